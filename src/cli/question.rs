//! Questions at a terminal: the options as numbered lines, one answer, and the command behind it with what the person fills in.

use std::io;

use super::{
    output::{self, Text},
    render::text_page,
};
use crate::{
    model::{Question, QuestionOption, Suggested},
    ops::ListedRun,
};

/// Options of commands that a person completes: the option, the word in the command, what is asked.
const PLACEHOLDERS: [(&str, &str, &str); 3] =
    [("--by", "NAME", "Your name:"), ("--note", "WHY", "Why:"), ("--error", "TEXT", "What is wrong:")];

/// Asks a question once, with what there is to judge by, and returns the answer; `None` at the end of input.
pub(super) fn ask(question: &Question) -> io::Result<Option<String>> {
    let is_yes_or_no = question.options.iter().all(|option| matches!(option.id.as_str(), "yes" | "no"));
    let is_literal = question.option("proceed").is_some();
    let mut prompt = question.text.clone();
    let mut clues = Text::default();
    text_page::clues(&mut clues, question);
    output::say(&clues)?;
    if !is_yes_or_no && !is_literal {
        let mut lines = Text::default();
        for (at, option) in question.options.iter().enumerate() {
            lines.plain(format!("  {}. {}", at + 1, option.label));
            if !option.changes_nothing {
                lines.dim(format!("  {}", option.command));
            }
            lines.end();
        }
        output::say(&lines)?;
    }
    let default = question.default.as_deref();
    if question.option("yes").is_some() && question.option("no").is_some() {
        prompt.push_str(if default == Some("yes") { " [Y/n]" } else { " [y/N]" });
    } else if !is_literal {
        let is_default = |option: &QuestionOption| Some(option.id.as_str()) == default && !option.changes_nothing;
        let enter = question.options.iter().position(is_default).map(|at| format!(", Enter: {}", at + 1));
        prompt.push_str(&format!(" (1-{}{})", question.options.len(), enter.unwrap_or_default()));
    }
    output::ask(&prompt)
}

/// Asks for the name of the person who decides; `None` at the end of input, or if none is typed.
pub(super) fn name() -> io::Result<Option<String>> {
    let [(_, _, asked), ..] = PLACEHOLDERS;
    Ok(output::ask(asked)?.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()))
}

/// Asks for what a command leaves open and returns its words; `None` if something is not filled in. The run is named by its path, since
/// several may have its id.
pub(super) fn completed(option: &QuestionOption, run: &str, path: &str) -> io::Result<Option<Vec<String>>> {
    let Suggested::Own(command) = &option.command else { return Ok(None) };
    let mut words = command.arguments();
    let named = words.iter().position(|word| word == "--run").map(|at| at + 1).unwrap_or(2);
    if let Some(word) = words.get_mut(named).filter(|word| *word == run) {
        path.clone_into(word);
    }
    for at in 1..words.len() {
        let placeholder = PLACEHOLDERS.iter().find(|(name, word, _)| words[at - 1] == *name && words[at] == *word);
        let Some((name, _, asked)) = placeholder else { continue };
        match output::ask(asked)?.map(|answer| answer.trim().to_owned()).filter(|answer| !answer.is_empty()) {
            // One word, so that an answer with a dash is not an option.
            Some(answer) => {
                words[at - 1].clear();
                words[at] = format!("{name}={answer}");
            }
            None => return Ok(None),
        }
    }
    words.retain(|word| !word.is_empty());
    Ok(Some(words))
}

/// Asks which of several runs is resumed, and returns its path.
pub(super) fn which(runs: &[ListedRun]) -> io::Result<Option<String>> {
    let numbers: Vec<usize> = runs.iter().map(|run| run.number).collect();
    let (first, last) = (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    let range = if last + 1 - first == numbers.len() {
        format!("{first}-{last}")
    } else {
        numbers.iter().map(usize::to_string).collect::<Vec<String>>().join(", ")
    };
    let answer = output::ask(&format!("Which would you like to resume? ({range})"))?.unwrap_or_default();
    let is_chosen = |run: &&ListedRun| run.number.to_string() == answer || run.id.as_str() == answer;
    let mut chosen = runs.iter().filter(is_chosen);
    // An id that several runs have chooses none of them.
    Ok(chosen.next().filter(|_| chosen.next().is_none()).map(|run| run.path.clone()))
}
