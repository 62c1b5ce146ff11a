"""Progress without a terminal: a line in ten seconds and one at the end. With one: a bar."""

import io

from clarion.node.progress import show_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_in_ten_seconds() -> None:
    now = [0.0]
    out = io.StringIO()
    with show_progress("Importing", 4_000_000, "blocks", out, lambda: now[0]) as progress:
        for _ in range(4):
            now[0] += 5
            progress.advance(1_000_000, 10)
    assert out.getvalue().splitlines() == [
        "Importing: 50.0%, 20 blocks, 2 blocks/s, 0.2 MB/s, 0:00:10 left",
        "Importing: 100.0%, 40 blocks, 2 blocks/s, 0.2 MB/s, 0:00:00 left",
        "Importing: 100.0%, 40 blocks, 2 blocks/s, 0.2 MB/s, 0:00:00 left",
    ]


def test_bar_on_a_terminal() -> None:
    out = Terminal()
    with show_progress("Importing", 100, "blocks", out) as progress:
        progress.advance(100, 3)
    assert "Importing" in out.getvalue()
    assert "3 blocks" in out.getvalue()
