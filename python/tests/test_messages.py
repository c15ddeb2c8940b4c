import json
import math
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any

from mcp.server.subscriptions import ResourceUpdated, ToolsListChanged

from mcp_listen_bus.messages import events_in, message_of, occurrence_of

from brokers import KNOWN, corpus, event_of


class Messages(unittest.TestCase):
    def test_changes_are_written_as_in_the_corpus(self) -> None:
        for text, event in KNOWN:
            self.assertEqual(message_of(event), text)

    def test_messages_of_the_corpus_give_the_changes_that_the_sdk_knows(self) -> None:
        for case in corpus("messages"):
            events = [event for change in case["events"] if (event := event_of(change)) is not None]
            self.assertEqual(events_in(case["text"]), (events, 0), case["name"])

    def test_changes_for_groups_and_occurrences_reach_no_listener(self) -> None:
        texts = [case["text"] for case in corpus("occurrences")]
        self.assertEqual(events_in("\n".join(texts)), ([], 0))

    def test_broken_lines_are_counted_and_the_others_are_read(self) -> None:
        lines = [
            "",
            "[]",
            "{",
            '{"kind":"nonsense"}',
            '{"kind":"resource_updated"}',
            '{"kind":"tools_list_changed"}',
        ]
        self.assertEqual(events_in("\n".join(lines)), ([ToolsListChanged()], 5))

    def test_a_deeply_nested_line_is_counted_as_broken(self) -> None:
        lines = ["[" * 100_000, '{"kind":' + "[" * 100_000, '{"kind":"tools_list_changed"}']
        self.assertEqual(events_in("\n".join(lines)), ([ToolsListChanged()], 2))

    def test_a_text_is_one_line(self) -> None:
        text = message_of(ResourceUpdated(uri="note://a\nb"))
        self.assertNotIn("\n", text)
        self.assertEqual(events_in(text), ([ResourceUpdated(uri="note://a\nb")], 0))

    def test_occurrences_that_servers_read_are_accepted(self) -> None:
        for case in corpus("drafts")["accepted"]:
            json.loads(draft_of(case))
        for group in ("acme", "x" * 2_037, "\u00e9" * 1_018):
            occurrence_of("paid", "1", None, group, {})
        occurrence_of("paid", "1", datetime(2026, 11, 25, tzinfo=timezone.utc), None, {})

    def test_occurrences_that_no_server_could_read_are_refused(self) -> None:
        for case in corpus("drafts")["refused"]:
            with self.assertRaises(ValueError, msg=case["name"]):
                draft_of(case)
        for name, event_id in (("", "1"), ("mcp.own", "1"), ("a b", "1"), ("paid", "a.b")):
            with self.assertRaises(ValueError):
                occurrence_of(name, event_id, None, None, {})
        for group in ("x" * 2_038, "\u00e9" * 1_019, "\ud800"):
            with self.assertRaises(ValueError):
                occurrence_of("paid", "1", None, group, {})

    def test_times_without_an_offset_in_whole_minutes_are_refused(self) -> None:
        offset = timezone(timedelta(hours=1, seconds=30))
        for timestamp in (datetime(2026, 11, 25), datetime(2026, 11, 25, tzinfo=offset)):
            with self.assertRaises(ValueError):
                occurrence_of("paid", "1", timestamp, None, {})

    def test_data_that_json_or_a_server_cannot_hold_is_refused(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(100_000):
            deep = {"a": deep}
        refused: list[Any] = [
            {"number": math.nan},
            {"text": "x" * 196_608},
            {"text": "\ud800"},
            {"a": {1: "a", "1": "b"}},
            ["a"],
            deep,
        ]
        for data in refused:
            with self.assertRaises(ValueError):
                occurrence_of("paid", "1", None, None, data)


def draft_of(case: dict[str, Any]) -> str:
    options = {"id": "1", "timestamp": None, "group": None, **case["options"]}
    return occurrence_of(
        "paid", options["id"], options["timestamp"], options["group"], case["data"]
    )
