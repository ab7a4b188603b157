"""Shows in the messenger that an answer is being thought of. Best effort: nothing depends on it, nothing is kept of it."""

from collections.abc import Sequence

from sqlalchemy import Connection

from core.errors import StoreError
from core.ids import TurnId
from core.store import Store

from .channels.contract import Channel, ShowsTyping
from .store.conversations import Conversation, get_conversation
from .store.turns import get_turn


async def show_typing(store: Store, channels: Sequence[Channel], turn: TurnId) -> None:
    try:
        conversation = await store.read(_conversation, turn)
    except StoreError:
        return  # whoever needs the store for the answer itself will say what is wrong with it
    for channel in channels:
        if channel.account == conversation.account and isinstance(channel, ShowsTyping):
            await channel.show_typing(conversation.chat, conversation.reply_token)


def _conversation(conn: Connection, turn: TurnId) -> Conversation:
    return get_conversation(conn, get_turn(conn, turn).conversation)
