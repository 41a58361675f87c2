"""Zeros made while collections are open, so that a pass costs one multiplication a ciphertext.

    opens → its stock is filled, as far as its reports so far will need it → closes → its passes take → ends: erased

One thread and a set of workers of the lowest priority serve all collections of this shuffler, one after another; they
are there only while a stock has to be filled, and their tables are given up with them. Intake comes first wherever it
wants the processor. A stock that was not filled in time costs nothing but the time that it would have saved.
"""

import threading
from collections.abc import Callable
from typing import Final

from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.compute import Background, Engine, ReadyZeros
from peos.crypto.schemes.base import Packed, PublicKey
from peos.errors import PeosError
from peos.net.observer import Observer
from peos.shuffle.attempt import ENCRYPTED_SHARE
from shuffler.events import ZerosNotMade, ZerosUsed

MEGABYTES: Final = 256  # of all stocks together: 330,000 zeros of Paillier
ROWS: Final = 1_000_000  # of one stock
# By `statistical`, where each zero costs an exponentiation:
_BATCH: Final = {False: 256, True: 16}  # zeros a worker between two looks at what has changed
_WORTH: Final = {False: 10_000, True: 200}  # for which workers are started: a pass is three seconds shorter


class ZeroStock:
    """The zeros made ahead for one collection."""

    def __init__(
        self, ahead: "ZeroPool", document: Document, public: PublicKey, number: int, capacity: int, observer: Observer
    ) -> None:
        passes = sum(holder == number for holder, _ in document.schedule.passes)
        own = number == ENCRYPTED_SHARE  # encrypts its shares of the fakes too
        words = document.mechanism.words
        self.ready = ReadyZeros(public, capacity)
        self.wanted = 0
        self.made = 0
        self.observer = observer
        self._least_reports = document.minimum + len(document.dummies)
        self._a_report = passes * words
        self._for_fakes = (passes + own) * words * document.fakes
        self._ahead = ahead

    def needed(self, reports: int) -> int:
        """The number of zeros that one attempt of the shuffle takes for so many reports."""
        return self._for_fakes + self._a_report * reports

    def follow(self, state: State, reports: int = 0) -> None:
        """Fill while reports come in, stop when that is over, and erase when nothing is shuffled any more.

        A collection with fewer than the minimum is never shuffled, so that many are counted on; beyond that, half more
        than there are, so that workers are seldom started anew.
        """
        if state is State.OPEN:
            reports = max(reports, self._least_reports)
            if self.needed(reports) > self.wanted:
                self.wanted = min(self.ready.capacity, self.needed(reports + reports // 2))
                self._ahead.wake()
            return
        self.wanted = 0
        self._ahead.leave(self)
        if state in (State.DELIVERED, State.PUBLISHED, State.ABORTED) and self._ahead.forget(self):
            left = self.ready.erase()
            if self.made:
                self.observer.note(ZerosUsed(self.made - left, self.made))

    def add(self, zeros: Packed) -> None:
        """Add zeros that were made for this collection."""
        self.made += self.ready.put(zeros)


class ZeroPool:
    """Fills the stocks of one shuffler. `worth` is for how many zeros it begins."""

    def __init__(
        self,
        *,
        statistical: bool = False,
        rows: int = ROWS,
        megabytes: int = MEGABYTES,
        worth: int | None = None,
        workers: Callable[[], Engine] = Background,
    ) -> None:
        self._statistical = statistical
        self._most_rows = rows
        self._most_bytes = megabytes * 10**6
        self._worth = _WORTH[statistical] if worth is None else worth
        self._workers = workers
        self._stocks: list[ZeroStock] = []
        self._at_work: tuple[ZeroStock, Engine] | None = None
        self._given_up: Engine | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._lock = threading.Lock()

    def stock(self, document: Document, public: PublicKey, number: int, observer: Observer) -> ZeroStock:
        """An empty stock for a collection in which this is shuffler `number`."""
        capacity = min(self._most_rows, self._most_bytes // public.ciphertext_bytes)
        stock = ZeroStock(self, document, public, number, capacity, observer)
        with self._lock:
            self._stocks.append(stock)
        return stock

    def forget(self, stock: ZeroStock) -> bool:
        """A collection has ended; False if that is known."""
        with self._lock:
            known = stock in self._stocks
            if known:
                self._stocks.remove(stock)
            return known

    @property
    def ready(self) -> int:
        """Zeros that are in stock, of all collections."""
        with self._lock:
            return sum(len(stock.ready) for stock in self._stocks)

    def wake(self) -> None:
        """See whether a stock is to be filled; returns at once."""
        with self._lock:
            if self._thread is None and self._hungry(self._worth):
                self._thread = threading.Thread(target=self._fill, name="zeros ahead", daemon=True)
                self._thread.start()

    def leave(self, stock: ZeroStock) -> None:
        """Give up what is being made for a collection that needs no more; returns at once."""
        with self._lock:
            found = self._at_work
            if found and found[0] is stock:
                self._given_up = found[1]
                threading.Thread(target=found[1].close, daemon=True).start()

    def close(self) -> None:
        """Give up what is being made, and erase what was."""
        with self._lock:
            self._closed = True
            thread, found, stocks = self._thread, self._at_work, list(self._stocks)
        if found:
            found[1].close()
        if thread:
            thread.join()
        for stock in stocks:
            stock.ready.erase()

    def _hungry(self, worth: int) -> tuple[ZeroStock, int] | None:
        """A stock that wants at least `worth` zeros, and how many of them there is memory for."""
        held = sum(len(stock.ready) * stock.ready.public.ciphertext_bytes for stock in self._stocks)
        for stock in self._stocks if not self._closed else ():
            room = (self._most_bytes - held) // stock.ready.public.ciphertext_bytes
            missing = min(stock.wanted - len(stock.ready), room)
            if missing >= worth:
                return stock, missing
        return None

    def _fill(self) -> None:
        while self._hungry_still():
            try:
                self._fill_some()
            except Exception as error:  # workers that cannot be started, whatever it is
                with self._lock:
                    stocks, self._at_work = list(self._stocks), None
                for stock in stocks:
                    self._give_up(stock, error)

    def _fill_some(self) -> None:
        with self._workers() as engine:
            while (found := self._next(engine)) is not None:
                stock, missing = found
                if not self._make(engine, stock, missing):
                    break  # with other workers, if another stock is to be filled

    def _give_up(self, stock: ZeroStock, error: Exception) -> None:
        """Passes make what is missing; the next report wishes for it again."""
        stock.observer.note(ZerosNotMade(error))
        stock.wanted = 0

    def _make(self, engine: Engine, stock: ZeroStock, missing: int) -> bool:
        public, count = stock.ready.public, min(missing, _BATCH[self._statistical] * engine.workers)
        try:
            made = engine.zeros(public, count, expected=missing, statistical=self._statistical)
        except PeosError as error:
            if not self._closed and engine is not self._given_up:
                self._give_up(stock, error)
            return False
        stock.add(made)
        return True

    def _next(self, engine: Engine) -> tuple[ZeroStock, int] | None:
        with self._lock:
            found = self._hungry(1)
            self._at_work = (found[0], engine) if found else None
            return found

    def _hungry_still(self) -> bool:
        """Whether this thread goes on; once it does not, the next wish starts another."""
        with self._lock:
            found = self._hungry(1)
            if found is None:
                self._thread = None
            return found is not None
