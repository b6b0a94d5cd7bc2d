"""Lines are led to the trials that they belong to, whatever their order."""

from __future__ import annotations

import pytest

from wirefence.fuzz.gate.server.demux import Demux
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.server.trial_payload import TrialPayload
from wirefence.fuzz.gate.trials.messages import OUR_NUMBER, TrialNames


def reply(name: str, more: str = "") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}\n' % (name.encode(), more.encode())


@pytest.fixture
def sent(bench):
    """Three good sessions in flight, their numbers, and what answers them."""
    made = bench()
    traffic = Demux("2025-11-25")
    for number in (1, 2, 3):
        each = prepare_trial(
            made.maker.make_good_session(number), made.facts.make_contract("strict")
        )
        traffic.add_trial(each, TrialPayload.of(each, "2025-11-25"))

    def answer(number: int, roles: str = "ps") -> bytes:
        return b"".join(reply(TrialNames(number).request_id(role).decode()) for role in roles)

    return traffic, answer


def landed(traffic: Demux) -> list[int]:
    return [flight.number for flight in traffic.take_finished()]


def test_what_is_answered_has_landed_with_its_lines(sent):
    traffic, answer = sent
    traffic.match_lines(answer(1) + answer(2))
    assert [(f.number, f.lines) for f in traffic.take_finished()] == [
        (number, answer(number).splitlines()) for number in (1, 2)
    ]
    assert list(traffic.in_flight) == [3]


def test_a_missing_reply_holds_back_its_own_trial_only(sent):
    traffic, answer = sent
    traffic.match_lines(answer(1, "s") + answer(2) + answer(3))
    assert landed(traffic) == [2, 3]
    traffic.match_lines(answer(1, "p"))
    assert landed(traffic) == [1]


def test_what_never_comes_is_given_up_with_what_has_come(sent):
    traffic, answer = sent
    traffic.match_lines(answer(1, "s"))
    (left,) = traffic.take_incomplete()
    assert (left.number, left.is_complete) == (1, False)
    assert left.lines == answer(1, "s").splitlines()


@pytest.mark.parametrize("order", [(3, 2, 1), (2, 3, 1)])
def test_replies_in_any_order_between_notifications_find_home(sent, order):
    traffic, answer = sent
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}\n'
    traffic.match_lines(note.join(answer(number) for number in order))
    assert sorted(landed(traffic)) == [1, 2, 3]
    assert traffic.passed == 3


def test_a_late_second_reply_is_still_that_of_its_trial(sent):
    traffic, answer = sent
    traffic.match_lines(answer(1) + answer(2) + answer(1, "p"))
    assert len(traffic.take_finished()[0].lines) == 3


def test_a_reply_that_quotes_another_trial_belongs_to_the_one_whose_id_it_has(sent):
    traffic, answer = sent
    said, ident = TrialNames(3).action_name("p"), TrialNames(2).request_id("p").decode()
    quoting = f'{{"jsonrpc":"2.0","result":{{"said":"{said}"}},"id":{ident}}}\n'
    traffic.match_lines(answer(1) + quoting.encode() + answer(2, "s"))
    assert landed(traffic) == [1, 2]


def test_what_is_no_message_puts_its_neighbours_in_doubt_once(sent):
    traffic, answer = sent
    traffic.match_lines(answer(1) + b"DEBUG loading\n" + answer(2) + b"DEBUG again\n" + answer(3))
    assert [flight.doubted for flight in traffic.take_finished()] == [True, True, False]


OTHERS = [b'{"level":"info","n":NaN}\n', b'{"level":\n', b'{"level":"info"}\n', b"{\0}\0\n"]


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_message_in_another_way_puts_its_own_neighbours_in_doubt(sent, other):
    traffic, answer = sent
    traffic.match_lines(b"DEBUG loading\n" + answer(1) + answer(2))
    assert [flight.doubted for flight in traffic.take_finished()] == [True, False]
    traffic.match_lines(other + b"DEBUG again\n" + answer(3))
    assert [flight.doubted for flight in traffic.take_finished()] == [True]


def test_another_server_is_told_of_its_own_noise(bench):
    made = bench()
    traffic = Demux("2025-11-25")
    for number in (1, 2):
        each = prepare_trial(
            made.maker.make_good_session(number), made.facts.make_contract("strict")
        )
        traffic.add_trial(each, TrialPayload.of(each, "2025-11-25"))
        traffic.match_lines(b"DEBUG loading\n")
        assert [flight.doubted for flight in traffic.in_flight.values()] == [True]
        traffic.clear()


def test_the_answer_to_a_fence_is_nobodys(sent):
    traffic, answer = sent
    traffic.match_lines(reply(TrialNames(OUR_NUMBER).request_id("fa").decode()) + answer(1))
    assert [len(flight.lines) for flight in traffic.take_finished()] == [2]


def test_a_reply_with_an_id_that_anybody_may_use_goes_to_who_waits_for_it(bench):
    made = bench()
    prepared = prepare_trial(made.trial("id-empty-string"), made.facts.make_contract("strict"))
    traffic = Demux("2025-11-25")
    traffic.add_trial(prepared, TrialPayload.of(prepared, "2025-11-25"))
    (flight,) = traffic.in_flight.values()
    assert flight.others
    traffic.match_lines(reply('""'))
    assert not flight.others
    assert flight.lines == [reply('""')[:-1]]
