"""Lines are led to the trials that they belong to, whatever their order."""

from __future__ import annotations

import pytest

from wirefence.fuzz.gate.server.demux import Traffic
from wirefence.fuzz.gate.server.fresh import ready
from wirefence.fuzz.gate.server.sent_trial import Parcel
from wirefence.fuzz.gate.trials.messages import LAST, Names


def reply(name: str, more: str = "") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}\n' % (name.encode(), more.encode())


@pytest.fixture
def sent(bench):
    """Three good sessions in flight, their numbers, and what answers them."""
    made = bench()
    traffic = Traffic("2025-11-25")
    for number in (1, 2, 3):
        each = ready(made.maker.good(number), made.facts.contract("strict"))
        traffic.depart(each, Parcel.of(each, "2025-11-25"))

    def answer(number: int, roles: str = "ps") -> bytes:
        return b"".join(reply(Names(number).ident(role).decode()) for role in roles)

    return traffic, answer


def landed(traffic: Traffic) -> list[int]:
    return [flight.number for flight in traffic.settle()]


def test_what_is_answered_has_landed_with_its_lines(sent):
    traffic, answer = sent
    traffic.take(answer(1) + answer(2))
    assert [(f.number, f.lines) for f in traffic.settle()] == [
        (number, answer(number).splitlines()) for number in (1, 2)
    ]
    assert list(traffic.flying) == [3]


def test_a_missing_reply_holds_back_its_own_trial_only(sent):
    traffic, answer = sent
    traffic.take(answer(1, "s") + answer(2) + answer(3))
    assert landed(traffic) == [2, 3]
    traffic.take(answer(1, "p"))
    assert landed(traffic) == [1]


def test_what_never_comes_is_given_up_with_what_has_come(sent):
    traffic, answer = sent
    traffic.take(answer(1, "s"))
    (left,) = traffic.give_up()
    assert (left.number, left.complete) == (1, False)
    assert left.lines == answer(1, "s").splitlines()


@pytest.mark.parametrize("order", [(3, 2, 1), (2, 3, 1)])
def test_replies_in_any_order_between_notifications_find_home(sent, order):
    traffic, answer = sent
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}\n'
    traffic.take(note.join(answer(number) for number in order))
    assert sorted(landed(traffic)) == [1, 2, 3]
    assert traffic.passed == 3


def test_a_late_second_reply_is_still_that_of_its_trial(sent):
    traffic, answer = sent
    traffic.take(answer(1) + answer(2) + answer(1, "p"))
    assert len(traffic.settle()[0].lines) == 3


def test_a_reply_that_quotes_another_trial_belongs_to_the_one_whose_id_it_has(sent):
    traffic, answer = sent
    said, ident = Names(3).action("p"), Names(2).ident("p").decode()
    quoting = f'{{"jsonrpc":"2.0","result":{{"said":"{said}"}},"id":{ident}}}\n'
    traffic.take(answer(1) + quoting.encode() + answer(2, "s"))
    assert landed(traffic) == [1, 2]


def test_what_is_no_message_puts_its_neighbours_in_doubt_once(sent):
    traffic, answer = sent
    traffic.take(answer(1) + b"DEBUG loading\n" + answer(2) + b"DEBUG again\n" + answer(3))
    assert [flight.doubted for flight in traffic.settle()] == [True, True, False]


OTHERS = [b'{"level":"info","n":NaN}\n', b'{"level":\n', b'{"level":"info"}\n', b"{\0}\0\n"]


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_message_in_another_way_puts_its_own_neighbours_in_doubt(sent, other):
    traffic, answer = sent
    traffic.take(b"DEBUG loading\n" + answer(1) + answer(2))
    assert [flight.doubted for flight in traffic.settle()] == [True, False]
    traffic.take(other + b"DEBUG again\n" + answer(3))
    assert [flight.doubted for flight in traffic.settle()] == [True]


def test_another_server_is_told_of_its_own_noise(bench):
    made = bench()
    traffic = Traffic("2025-11-25")
    for number in (1, 2):
        each = ready(made.maker.good(number), made.facts.contract("strict"))
        traffic.depart(each, Parcel.of(each, "2025-11-25"))
        traffic.take(b"DEBUG loading\n")
        assert [flight.doubted for flight in traffic.flying.values()] == [True]
        traffic.clear()


def test_the_answer_to_a_fence_is_nobodys(sent):
    traffic, answer = sent
    traffic.take(reply(Names(LAST).ident("fa").decode()) + answer(1))
    assert [len(flight.lines) for flight in traffic.settle()] == [2]


def test_a_reply_with_an_id_that_anybody_may_use_goes_to_who_waits_for_it(bench):
    made = bench()
    prepared = ready(made.trial("id-empty-string"), made.facts.contract("strict"))
    traffic = Traffic("2025-11-25")
    traffic.depart(prepared, Parcel.of(prepared, "2025-11-25"))
    (flight,) = traffic.flying.values()
    assert flight.others
    traffic.take(reply('""'))
    assert not flight.others
    assert flight.lines == [reply('""')[:-1]]
