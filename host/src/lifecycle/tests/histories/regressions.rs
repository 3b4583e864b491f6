//! Histories that broke something once.

/// What was broken, and the shortest script that showed it.
pub(super) const SCRIPTS: &[(&str, &str)] = &[
    (
        "a stage that says it was cancelled leaves those behind it waiting for ever",
        "deployment
         stage A needs=
         stage B needs=A
         plan 1
         planned 1
         begin 1 A
         answer A 1.1 cancelled",
    ),
    (
        "a rollback whose only stage says it was cancelled is told as a success",
        "deployment
         stage A
         stage a undoes=A
         plan 2
         planned 2
         begin 0 A
         answer A 1.1 failed
         begin 1 a
         answer a 1.1 cancelled",
    ),
    (
        "a stage begins after the deployment's time is over",
        "deployment timeout=20
         stage A needs= skip=
         stage B skip-on
         stage D needs=B
         plan 1
         planned 1
         begin 1 A
         answer A 1.1 succeeded
         pass 25200000
         begin 2 D",
    ),
    (
        "a rollback stage begins in the place of one that has not been found out to be due",
        "deployment timeout=20
         stage A needs= skip=
         stage B needs=A approve=
         stage a undoes=A
         stage b undoes=B
         plan 1
         planned 1
         begin 1 A
         answer A 1.1 succeeded
         pass 25200000
         begin 2 a",
    ),
    (
        "a stage begins after the default time of the deployment is used up",
        "deployment no-rollback
         stage B skip=
         plan 0
         planned 0
         begin 1 B
         jump 432000000
         stop 1",
    ),
    (
        "a stage is blamed for the default time of the deployment",
        "deployment
         stage C needs=
         stage D needs=C
         plan 2
         planned 2
         begin 1 C
         pass 18000000
         answer C 1.1 succeeded
         begin 0 D
         pass 108000000
         answer D 1.1 succeeded",
    ),
    (
        "of several stages that start within a millisecond the wrong one counts as the last",
        "deployment
         stage A
         stage B
         stage C
         stage a undoes=A
         stage b undoes=B
         stage c undoes=C
         plan 0
         planned 0
         begin 1 A
         answer A 1.1 succeeded
         begin 0 B
         answer B 1.1 succeeded
         begin 2 C
         answer C 1.1 failed",
    ),
    (
        "a stop of its host ends a stage half-way when another one had failed",
        "deployment no-rollback
         stage A needs=
         stage C needs=
         plan 0
         planned 0
         begin 2 C
         begin 1 A
         answer A 1.1 failed
         stop 2",
    ),
    (
        "a stop of its host ends a stage half-way in a deployment that is told as a success",
        "deployment
         stage A needs=
         stage C needs=
         plan 0
         planned 0
         begin 2 C
         begin 1 A
         answer A 1.1 exited
         stop 2",
    ),
    (
        "an approval in time is lost when nobody looks before the limit",
        "deployment timeout=120
         stage A timeout=60 approve=
         stage a undoes=A approve=
         plan 0
         planned 0
         begin 0 A
         answer A 1.1 suspended command=0
         approve A ann
         pass 25200000
         tick
         begin 1 A
         answer A 1.2 failed
         begin 0 a
         answer a 1.1 suspended command=0
         approve a bob
         pass 25200000
         tick
         begin 2 a",
    ),
    (
        "what ends because of another stage is told before that",
        "deployment
         stage A timeout=10 approve=
         stage D needs=
         plan 2
         planned 2
         begin 0 A
         begin 0 D
         answer A 1.1 suspended time=90000
         pass 10000
         answer D 1.1 succeeded",
    ),
    (
        "a stage that used up its own time must not be said to have while the deployment's waits",
        "deployment timeout=90000
         stage A
         stage B needs=
         stage C needs= approve=
         plan 0
         planned 0
         begin 2 A
         begin 0 C
         begin 0 B
         answer B 1.1 suspended time=108000000
         approve C cid",
    ),
];
