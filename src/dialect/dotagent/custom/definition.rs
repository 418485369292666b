//! A checked definition of a custom workflow, as parsed from a file and as stored in a run.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::document::TextPosition;
use crate::document::definition::Text;
use crate::model::OutputSchema;
use crate::model::PartKind;
use crate::model::RelPath;
use crate::model::StepKind;
use crate::model::sha256_hex;

/// A workflow definition.
#[derive(Clone, Debug, Default)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) steps: Vec<StepDefinition>,
}

/// One step of a workflow.
#[derive(Clone, Debug, Default)]
pub(super) struct StepDefinition {
    pub(super) id: Text,
    pub(super) title: Option<String>,
    pub(super) phase: Option<PhaseDefinition>,
    pub(super) agent: Option<Text>,
    /// `None` if the file does not say; resolved at the end of parsing.
    pub(super) depends_on: Option<Vec<Text>>,
    pub(super) returns_to: Option<Text>,
    pub(super) gate: Option<Gate>,
    pub(super) outputs: Vec<Output>,
    pub(super) parts: Vec<PartDefinition>,
    /// Whether it may run twice, if the file says so.
    pub(super) idempotent: Option<bool>,
    pub(super) probe: Option<String>,
    pub(super) instructions: Option<String>,
}

/// The phase to which a step belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhaseDefinition {
    pub(super) id: String,
    pub(super) title: Option<String>,
}

/// A gate that a person approves, with the text of the question or the approver.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) text: Option<String>,
    pub(super) place: TextPosition,
}

/// A file that a step has to produce.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) path: RelPath,
    pub(super) place: TextPosition,
    pub(super) schema: Option<(OutputSchema, TextPosition)>,
}

/// A part of a step that can be resumed separately.
#[derive(Clone, Debug)]
pub(super) struct PartDefinition {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) kind: PartKind,
}

impl StepDefinition {
    pub(super) fn id(&self) -> &str {
        &self.id.text
    }

    pub(super) fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.id.text)
    }

    pub(super) fn needs(&self) -> &[Text] {
        self.depends_on.as_deref().unwrap_or_default()
    }

    /// Returns the kind of the step: a gate, a review if it returns to another step, otherwise work.
    pub(super) const fn kind(&self) -> StepKind {
        match (&self.gate, &self.returns_to) {
            (Some(_), _) => StepKind::Gate,
            (None, Some(_)) => StepKind::Review,
            (None, None) => StepKind::Work,
        }
    }

    /// Returns everything that determines what the step does. The title is left out, because changing it must not reopen the
    /// step.
    pub(super) fn essence(&self) -> Value {
        let mut step = self.to_value();
        step.shift_remove("title");
        Value::Object(step)
    }

    /// Returns the digest of the step's definition.
    pub(super) fn digest(&self) -> String {
        sha256_hex(self.essence().to_string().as_bytes())
    }

    fn to_value(&self) -> Map<String, Value> {
        let texts = |texts: &[Text]| texts.iter().map(|text| Value::String(text.text.clone())).collect::<Vec<_>>();
        let gate = self.gate.as_ref().map(|gate| gate.text.as_ref().map_or(Value::Bool(true), |text| json!(text)));
        let parts: Vec<Value> = self.parts.iter().map(PartDefinition::to_value).collect();
        let outputs: Vec<Value> = self.outputs.iter().map(Output::to_value).collect();
        let fields = [
            ("id", Some(json!(self.id.text))),
            ("title", self.title.as_ref().map(|title| json!(title))),
            ("agent", self.agent.as_ref().map(|agent| json!(agent.text))),
            ("depends_on", Some(Value::Array(texts(self.needs())))),
            ("returns_to", self.returns_to.as_ref().map(|id| json!(id.text))),
            ("gate", gate),
            ("outputs", (!outputs.is_empty()).then_some(Value::Array(outputs))),
            ("parts", (!parts.is_empty()).then_some(Value::Array(parts))),
            ("idempotent", self.idempotent.map(Value::Bool)),
            ("probe", self.probe.as_ref().map(|probe| json!(probe))),
            ("instructions", self.instructions.as_ref().map(|text| json!(text))),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

impl Output {
    fn to_value(&self) -> Value {
        match &self.schema {
            None => json!(self.path),
            Some((OutputSchema::Inline(schema), _)) => json!({"path": self.path, "schema": schema}),
            Some((OutputSchema::File(file), _)) => json!({"path": self.path, "schema": file}),
        }
    }
}

impl PartDefinition {
    fn to_value(&self) -> Value {
        match (&self.title, self.kind) {
            (None, PartKind::Work) => json!(self.name),
            (title, kind) => {
                let mut part = json!({"name": self.name});
                if let Some(title) = title {
                    part["title"] = json!(title);
                }
                if kind == PartKind::Analysis {
                    part["kind"] = json!("analysis");
                }
                part
            }
        }
    }
}

impl Definition {
    pub(super) fn step(&self, id: &str) -> Option<&StepDefinition> {
        self.steps.iter().find(|step| step.id.text == id)
    }

    /// Returns the definition as stored in a run: the language of the file, with defaults that depend on other steps written out.
    pub(super) fn to_value(&self) -> Value {
        let mut value = Map::new();
        value.insert("name".to_owned(), json!(self.name));
        if let Some(description) = &self.description {
            value.insert("description".to_owned(), json!(description));
        }
        let steps = |steps: &[StepDefinition]| -> Value {
            steps.iter().map(|step| Value::Object(step.to_value())).collect::<Vec<_>>().into()
        };
        if self.steps.iter().all(|step| step.phase.is_none()) {
            value.insert("steps".to_owned(), steps(&self.steps));
            return Value::Object(value);
        }
        let phases = self.steps.chunk_by(|a, b| a.phase == b.phase).map(|chunk| {
            let mut phase = Map::new();
            if let Some(first) = chunk.first().and_then(|step| step.phase.as_ref()) {
                phase.insert("id".to_owned(), json!(first.id));
                if let Some(title) = &first.title {
                    phase.insert("title".to_owned(), json!(title));
                }
            }
            phase.insert("steps".to_owned(), steps(chunk));
            Value::Object(phase)
        });
        value.insert("phases".to_owned(), phases.collect::<Vec<_>>().into());
        Value::Object(value)
    }

    /// Returns the phases in file order, or the steps if there are no phases, as counted in `completed_phases`.
    pub(super) fn phases(&self) -> Vec<(String, Vec<&StepDefinition>)> {
        let mut phases: Vec<(String, Vec<&StepDefinition>)> = Vec::new();
        for step in &self.steps {
            let name = step.phase.as_ref().map_or(step.id(), |phase| phase.id.as_str());
            match phases.last_mut() {
                Some((last, steps)) if step.phase.is_some() && last == name => steps.push(step),
                Some(_) | None => phases.push((name.to_owned(), vec![step])),
            }
        }
        phases
    }
}
