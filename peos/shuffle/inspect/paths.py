"""Where the dummies' rows went, round after round, as far as all hiders of a round say the same.

A shuffler that opened the rows which some hider names could be led to a user's row instead. So a place counts only if
every hider of the round names it: t hiders are more than may collude, one of them at least is honest, and an honest
one says where the dummies really are (protocol.md §7.2).
"""

from peos.shuffle.schedule import Schedule

Places = tuple[int, ...]


class Paths:
    """The places of the dummies' rows before round 1, and after each round that is agreed on."""

    def __init__(self, schedule: Schedule, rows: int, start: Places) -> None:
        self._schedule = schedule
        self._rows = rows
        self._start = start
        self._claims: dict[int, dict[int, Places]] = {}

    def claim(self, round_: int, hider: int, places: Places) -> None:
        """A hider says where the rows are after a round; of one hider the first word stands."""
        if hider in self._schedule.hiders(round_):
            self._claims.setdefault(round_, {}).setdefault(hider, places)

    def after(self, round_: int) -> Places | None:
        """The places after a round (0: before the first), once all its hiders agree on them."""
        if round_ == 0:
            return self._start
        claims = self.claims(round_)
        found = set(claims.values())
        if len(claims) < self._schedule.threshold or len(found) > 1:
            return None
        (places,) = found
        return places if self._is_possible(places) else None

    def claims(self, round_: int) -> dict[int, Places]:
        """What each hider of a round says."""
        return self._claims.get(round_, {})

    def is_disputed(self, round_: int) -> bool:
        """Whether what was said so far can no longer come to an agreement."""
        found = set(self.claims(round_).values())
        return len(found) > 1 or not all(map(self._is_possible, found))

    def disputing(self, round_: int) -> tuple[int, ...]:
        """Who may be wrong in a disputed round: those that name impossible places, else all that spoke."""
        claims = self.claims(round_)
        impossible = [who for who, places in claims.items() if not self._is_possible(places)]
        return tuple(sorted(impossible or claims))

    @property
    def agreed(self) -> tuple[Places, ...]:
        """The places before the first round, and after each one up to the first that is not agreed on."""
        found: list[Places] = []
        for number in range(len(self._schedule.rounds) + 1):
            places = self.after(number)
            if places is None:
                break
            found.append(places)
        return tuple(found)

    def _is_possible(self, places: Places) -> bool:
        """A permutation takes different rows to different places."""
        return (
            len(places) == len(self._start)
            and len(set(places)) == len(places)
            and all(0 <= place < self._rows for place in places)
        )
