"""How a collection ends that is not delivered, and what is said about one that has ended (protocol.md §6.5, §6.6)."""

from functools import partial

from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.errors import Closed, Refused
from peos.shuffle.delivery import Delivery
from peos.shuffle.effects import Expired, Heard, Persist, Tell
from peos.shuffle.messages import Notice, NoticeKind, SignedNotice
from peos.shuffle.standing import Place, Standing
from peos.store.base import Collection, ShufflerStore
from shuffler.post import Post
from shuffler.storing import Stored

LOST = "its store was lost or restored from a backup: nothing is signed for it any more"


class Ending:
    """One shuffler's last words on one collection."""

    def __init__(
        self, number: int, document: Document, collection: bytes, identity: Identity, store: Stored, post: Post
    ) -> None:
        self._number = number
        self._schedule = document.schedule
        self._collection = collection
        self._identity = identity
        self._store = store
        self._post = post

    async def abort(self, reason: str) -> State:
        """End it, durably; the state it has now, which is not ABORTED if it turns out to be delivered. May be repeated.

        A standing that may still send ends without a tombstone, any other with one: before the state says so, since
        from then on nothing reminds a restart to do it.
        """
        kept: Collection = await self._store(lambda store: store.collection(self._collection))
        if kept.standing.place is Place.DONE:
            await self._store(lambda store: store.set_state(self._collection, State.DELIVERED))
            return State.DELIVERED
        standing = kept.standing
        if kept.frozen is not None and not kept.lost:
            _, effects = Delivery(self._number, self._schedule, standing).on(Expired())
            for effect in effects:
                if isinstance(effect, Persist):
                    standing = effect.standing
                    await self._store(partial(_persist, self._collection, standing))

        await self._store(lambda store: store.set_state(self._collection, State.ABORTED, reason[:500]))
        if standing.place is Place.DEAD and kept.frozen is not None and not kept.lost:
            others = (who for who in range(1, self._schedule.shufflers + 1) if who != self._number)
            notice = Notice(NoticeKind.TOMBSTONE, self._number, standing.attempt)
            self._tell(Context(self._collection, kept.frozen.digest), notice, tuple(others))
        # Last: the others need not wait until this disk lets itself be erased.
        await self._store(lambda store: store.erase(self._collection))
        return State.ABORTED

    async def answer(self, signed: SignedNotice) -> None:
        """What is said to whoever still asks; a store that was lost says nothing, since it may have said otherwise."""
        kept: Collection = await self._store(lambda store: store.collection(self._collection))
        if kept.lost:
            raise Closed("collection.lost", f"the collection has ended here: {LOST}")
        standing = kept.standing
        if kept.frozen is None:
            # Aborted before it was frozen here: of whatever list the others froze, nothing will ever be delivered.
            standing = Standing(Place.DEAD)
        elif kept.frozen.digest != signed.context.frozen:
            raise Refused("freeze.notice_other", "the notice is about another frozen list")
        _, effects = Delivery(self._number, self._schedule, standing).on(Heard(signed.notice))
        if any(isinstance(effect, Persist) for effect in effects):
            return  # what would have to be durable first is not said any more
        for effect in effects:
            if isinstance(effect, Tell):
                self._tell(signed.context, effect.notice, effect.receivers)

    def _tell(self, context: Context, notice: Notice, receivers: tuple[int, ...]) -> None:
        for receiver in receivers:
            self._post.notice(SignedNotice.sign(self._identity, context, notice), receiver)


def _persist(collection: bytes, standing: Standing, store: ShufflerStore) -> None:
    store.put_standing(collection, standing)
