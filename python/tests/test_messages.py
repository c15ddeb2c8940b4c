import math
import unittest
from datetime import datetime

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

    def test_occurrences_that_no_server_could_read_are_refused(self) -> None:
        refused: list[tuple[str, str, datetime | None, dict[str, object]]] = [
            ("", "1", None, {}),
            ("mcp.own", "1", None, {}),
            ("a b", "1", None, {}),
            ("paid", "", None, {}),
            ("paid", "a.b", None, {}),
            ("paid", "1", datetime(2026, 11, 25), {}),
            ("paid", "1", None, {"number": math.nan}),
            ("paid", "1", None, {"text": "x" * 196_608}),
        ]
        for name, event_id, timestamp, data in refused:
            with self.assertRaises(ValueError):
                occurrence_of(name, event_id, timestamp, None, data)
