use crate::{
    dialect::{
        Dialect as _, EditError,
        ccw::{
            Ccw,
            testing::{begin, change, files, finish},
        },
    },
    model::{ChangeKind, Status, StepId},
};

#[test]
fn what_cannot_be_written_is_refused() {
    let set = files(&[("TODO_LIST.md", "- [ ] **IMPL-9**: no file\n"), (".task/IMPL-1.json", "{\"id\": \"IMPL-1\", ")]);
    let refuse = |kind: ChangeKind| Ccw.edit(&set, &change(kind)).unwrap_err();
    assert!(matches!(refuse(begin("IMPL-1")), EditError::Unreadable { .. }));
    assert!(matches!(refuse(begin("../IMPL-1")), EditError::Missing { .. }));
    assert!(matches!(refuse(finish("IMPL-9", Status::Failed)), EditError::Unsupported(_)));
    assert!(matches!(refuse(ChangeKind::Pause { reason: None }), EditError::Missing { .. }));
    assert!(matches!(refuse(finish("IMPL-9", Status::WaitingApproval)), EditError::Unsupported(_)));
    let approve = ChangeKind::Approve { step: StepId::new("IMPL-9"), by: None, note: None, phases: None, choice: None };
    assert!(matches!(refuse(approve), EditError::Unsupported(_)));
}
