"""Collections that are being created in the serving process, at a console's word, by the service of the command."""

import asyncio
from typing import Any

from analyzer.create import open_collection
from analyzer.draft import draft
from analyzer.events import NotCreated
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.cli.progress import Progress
from peos.errors import PeosError
from peos.net.observer import Observer
from peos.spec import CollectionSpec


class Said(Progress):
    """Keeps the last sentence, for those who look."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def say(self, sentence: str) -> None:
        """What happened, or begins."""
        self.last = sentence

    def waiting(self, sentence: str) -> None:
        """What is being waited for."""
        self.last = sentence


class Creating:
    """From a spec to an open collection, in the background; a stop of the process leaves a draft to go on with."""

    def __init__(self, workspace: Workspace, observer: Observer) -> None:
        self._workspace, self._observer = workspace, observer
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, Said] = {}
        self._ended: dict[str, str] = {}  # why a task ended before the collection was open
        self._one = asyncio.Lock()  # the same twice is one collection

    async def begin(self, spec: CollectionSpec) -> CollectionRow:
        """The collection of that spec, kept; whatever is left to do for it goes on."""
        async with self._one:
            said = Said()
            kept = await asyncio.to_thread(draft, self._workspace, spec, said)
            running = self._tasks.get(kept.name)
            if running is None or running.done():
                self._progress[kept.name] = said
                self._ended.pop(kept.name, None)
                self._tasks[kept.name] = asyncio.ensure_future(self._open(kept, said, spec.closes_in))
            return kept

    def said(self, name: str) -> dict[str, Any]:
        """Whether a draft is being gone on with, what was said of it last, and why it is not."""
        task = self._tasks.get(name)
        is_running = task is not None and not task.done()
        last = self._progress[name].last if name in self._progress else ""
        return {"is_running": is_running, "said": last if is_running else "", "ended": self._ended.get(name, "")}

    async def stop(self) -> None:
        """End what is under way; the drafts stay."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _open(self, kept: CollectionRow, said: Said, wait: float) -> None:
        try:
            await open_collection(self._workspace, kept, said, wait=wait)
        except PeosError as error:
            self._ended[kept.name] = f"{error} [{error.id}]"
            self._observer.of(kept.digest).note(NotCreated(error))
        except Exception as error:  # said in the log; the draft can be gone on with
            self._ended[kept.name] = type(error).__name__
            self._observer.of(kept.digest).note(NotCreated(error))
