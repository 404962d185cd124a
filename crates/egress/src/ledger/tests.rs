//! What the ledger keeps, drops and reports.

use super::*;

fn request(host: &str) -> RequestSummary {
    RequestSummary::new("GET", &HostName::parse(host).unwrap(), 80)
}

#[test]
fn the_newest_failure_is_the_one_that_no_request_came_after() {
    let ledger = Ledger::new(3);
    assert_eq!(ledger.newest_failure(), None);
    ledger.record_failure(request("a.test"), Reason::HostNotFound.into());
    ledger.record_failure(request("b.test"), Reason::NotHome.into());
    let failure = ledger.newest_failure().unwrap();
    assert_eq!((failure.host.as_str(), failure.code()), ("b.test", ErrorCode::EgressNotHome));
    ledger.record_allowed(request("c.test"), SocketAddr::from(([127, 0, 0, 1], 80)), Arc::default());
    assert_eq!(ledger.newest_failure(), None);
}

#[test]
fn the_oldest_entries_make_room_and_are_counted() {
    let ledger = Ledger::new(3);
    for host in ["a.test", "b.test", "c.test", "d.test", "e.test"] {
        ledger.record_failure(request(host), Reason::HostNotFound.into());
    }
    let snapshot = ledger.snapshot();
    let hosts: Vec<&str> = snapshot.entries.iter().map(|entry| entry.host.as_str()).collect();
    assert_eq!((hosts, snapshot.dropped), (vec!["c.test", "d.test", "e.test"], 2));
}

#[test]
fn refusals_and_failures_do_not_push_out_what_was_sent() {
    let ledger = Ledger::new(2);
    let address = "192.0.2.1:80".parse().unwrap();
    ledger.record_failure(request("refused-first.test"), Reason::Port.into());
    let sent = ledger.record_allowed(request("sent.test"), address, Arc::default());
    ledger.record_failure(request("missing.test"), Reason::HostNotFound.into());
    for _ in 0..100 {
        ledger.record_failure(request("refused.test"), Reason::Port.into());
    }
    ledger.record_allowed(request("sent-last.test"), address, Arc::default());
    let hosts = |snapshot: &LedgerSnapshot| -> Vec<String> {
        snapshot.entries.iter().map(|entry| entry.host.clone()).collect()
    };
    let snapshot = ledger.snapshot();
    let expected = ["sent.test", "missing.test", "refused.test", "refused.test", "sent-last.test"];
    assert_eq!((hosts(&snapshot), snapshot.dropped), (expected.map(str::to_owned).to_vec(), 99));

    ledger.mark_failed(sent, Reason::ConnectionLost);
    for _ in 0..100 {
        ledger.record_failure(request("missing.test"), Reason::HostNotFound.into());
    }
    let first = &ledger.snapshot().entries[0];
    assert_eq!(
        (first.host.as_str(), first.verdict),
        ("sent.test", EgressOutcome::Failed(Reason::ConnectionLost))
    );
}

#[test]
fn a_row_that_is_gone_is_not_mistaken_for_another() {
    let ledger = Ledger::new(2);
    let address = "127.0.0.1:80".parse().unwrap();
    let first = ledger.record_allowed(request("a.test"), address, Arc::default());
    let second = ledger.record_allowed(request("b.test"), address, Arc::default());
    let third = ledger.record_allowed(request("c.test"), address, Arc::default());
    ledger.mark_failed(first, Reason::Idle);
    ledger.mark_failed(third, Reason::ConnectionLost);
    let verdicts: Vec<EgressOutcome> = ledger.snapshot().entries.iter().map(|entry| entry.verdict).collect();
    assert_eq!(verdicts, [EgressOutcome::Allowed, EgressOutcome::Failed(Reason::ConnectionLost)]);
    assert_ne!(first, second);
}

#[test]
fn the_last_failure_of_a_host_is_found_however_the_host_is_written() {
    let ledger = Ledger::new(10);
    ledger.record_failure(request("127.1"), Reason::ConnectionRefused.into());
    ledger.record_failure(request("127.0.0.1"), Reason::Port.into());
    ledger.record_failure(request("other.test"), Reason::HostNotFound.into());
    let failure = ledger.last_failure("2130706433").unwrap();
    assert_eq!((failure.reason, failure.code()), (Reason::Port, ErrorCode::EgressRefused));
    assert_eq!(ledger.last_failure("unheard.test"), None);
    ledger.record_allowed(request("127.0.0.1"), "127.0.0.1:80".parse().unwrap(), Arc::default());
    assert_eq!(ledger.last_failure("127.0.0.1"), None, "a host that works again has no failure");
}

#[test]
fn a_method_is_kept_in_bounded_size() {
    let entry = RequestSummary::unreadable(&"X".repeat(5000));
    assert_eq!(entry.method.len(), MAX_METHOD_CHARS);
}

#[test]
fn an_entry_is_reported_once_and_an_open_connection_again_after_its_end() {
    let ledger = Ledger::new(10);
    let address = "192.0.2.1:443".parse().unwrap();
    ledger.set_action(3);
    let open = ledger.record_allowed(request("open.test"), address, Arc::default());
    ledger.record_failure(request("refused.test"), Reason::Port.into());
    let hosts = |batch: &LedgerBatch| -> Vec<(String, bool)> {
        let shown = |entry: &LedgerEntry| (entry.host.clone(), entry.duration_ms.is_some());
        batch.entries.iter().map(shown).collect()
    };
    let first = ledger.take_batch(64);
    assert_eq!(hosts(&first), [("open.test".to_owned(), false), ("refused.test".to_owned(), false)]);
    assert_eq!((first.lost, first.entries[0].action), (0, 3));
    assert_eq!(ledger.take_batch(64), LedgerBatch::default());
    ledger.set_action(4);
    ledger.mark_failed(open, Reason::ByteLimit);
    assert_eq!(ledger.take_batch(64), LedgerBatch::default());
    ledger.close(open);
    let last = ledger.take_batch(64);
    assert_eq!(hosts(&last), [("open.test".to_owned(), true)]);
    assert_eq!((last.entries[0].id, last.entries[0].action), (first.entries[0].id, 3));
    assert_eq!(last.entries[0].verdict, EgressOutcome::Refused(Reason::ByteLimit));
    ledger.close_all();
    assert_eq!(ledger.take_batch(64), LedgerBatch::default());
}

#[test]
fn what_is_dropped_before_it_was_reported_is_counted() {
    let ledger = Ledger::new(2);
    for _ in 0..5 {
        ledger.record_failure(request("refused.test"), Reason::Port.into());
    }
    let batch = ledger.take_batch(1);
    assert_eq!((batch.entries.len(), batch.lost), (1, 3));
    let batch = ledger.take_batch(64);
    assert_eq!((batch.entries.len(), batch.lost), (1, 0));
    ledger.record_failure(request("refused.test"), Reason::Port.into());
    let batch = ledger.take_batch(64);
    assert_eq!((batch.entries.len(), batch.lost), (1, 0), "a reported one is no loss");
}

#[tokio::test]
async fn a_full_batch_announces_itself() {
    let ledger = Ledger::new(1000);
    for _ in 0..BATCH_ENTRIES {
        ledger.record_failure(request("refused.test"), Reason::Port.into());
    }
    ledger.batch_ready().await;
    assert_eq!(ledger.take_batch(1000).entries.len(), BATCH_ENTRIES);
}

#[test]
fn an_intercepted_request_is_on_record_and_is_no_failure() {
    let ledger = Ledger::new(10);
    ledger.record_request(InterceptedRequest {
        method: "GET".to_owned(),
        host: "shop.test".to_owned(),
        port: 443,
        path_redacted: format!("/{}", "a".repeat(5000)),
        status: Some(500),
        verdict: EgressOutcome::Allowed,
        action: 3,
        bytes_up: 5,
        bytes_down: 7,
        started: Timestamp::UNIX_EPOCH,
        duration: Duration::from_millis(12),
    });
    let entry = ledger.snapshot().entries.remove(0);
    assert_eq!((entry.status, entry.bytes_up, entry.bytes_down), (Some(500), 5, 7));
    assert_eq!((entry.action, entry.verdict), (3, EgressOutcome::Allowed));
    assert_eq!((entry.duration_ms, entry.at), (Some(12), Timestamp::UNIX_EPOCH));
    assert_eq!(entry.path.unwrap().len(), MAX_PATH_CHARS);
    assert_eq!((ledger.newest_failure(), ledger.last_failure("shop.test")), (None, None));
}
