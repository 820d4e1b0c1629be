"""An application with SQLAlchemy: a session adds an invoice and emits its event."""
from sqlalchemy import create_engine, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.sql import cast

from loop import RolledBack, run, url


class Base(DeclarativeBase):
    pass


class Invoice(Base):
    __tablename__ = "invoices"
    __table_args__ = {"schema": "app"}
    id: Mapped[str] = mapped_column(primary_key=True)


address = url.replace("postgres://", "postgresql+psycopg://", 1)
engine = create_engine(address, pool_size=1, pool_pre_ping=True)


def emit(session, id, key):
    object = cast({"id": id}, JSONB)
    call = func.gatehook.gatehook_emit("invoice.paid", object, "default", None, key)
    session.execute(select(call))


def pay(id, key, emits_first, rolls_back):
    with Session(engine) as session, session.begin():
        if emits_first:
            emit(session, id, key)
        session.add(Invoice(id=id))
        session.flush()
        if not emits_first:
            emit(session, id, key)
        if rolls_back:
            raise RolledBack


run(pay, DBAPIError)
