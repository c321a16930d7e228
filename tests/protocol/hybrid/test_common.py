"""The sliding structures against naive models, and the cost of what they do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from microcosm.protocol.hybrid.common import SLACK, SlidingArray, SlidingMap


@given(st.integers(0, 3), st.lists(st.booleans(), max_size=300))
def test_a_sliding_array_is_a_list_that_forgets_its_beginning(base: int, adding: list[bool]) -> None:
    array, model, first = SlidingArray[int](base), list[int](), base
    for step, add in enumerate(adding):
        if add:
            assert array.add(step) == first + len(model)
            model.append(step)
        elif model:
            assert array.remove() == model.pop(0)
            first += 1
        array._check()
        assert list(array) == model
        assert (array.first, array.next, len(array)) == (first, first + len(model), len(model))
        if model:
            assert array.peek == model[0]
            assert array[array.next - 1] == model[-1]


def test_what_is_outside_the_window_is_no_element() -> None:
    array = SlidingArray[str](1)
    array.add("a")
    for index in (0, 2, -1):
        try:
            array[index]
        except IndexError:
            continue
        raise AssertionError(index)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=300))
def test_a_sliding_map_is_a_dictionary_with_a_window(steps: list[tuple[bool, int]]) -> None:
    window, model, count = SlidingMap[int](), dict[int, int](), 0
    for add, key in steps:
        if add and key not in model:
            assert window.add(key) == count
            model[key] = count
            count += 1
        elif not add:
            assert window.remove(key) is (model.pop(key, None) is not None)
        window._check()
        assert (window.first, window.next) == (min(model.values(), default=count), count)
        assert list(window) == list(model)
        for index in range(window.first, window.next):
            assert window[index] == next((k for k, at in model.items() if at == index), None)
        assert window.index(key) == model.get(key)
        assert (key in window) is (key in model)


def test_memory_follows_the_window() -> None:
    array, mapped = SlidingArray[int](), SlidingMap[int]()
    for step in range(10_000):
        array.add(step)
        mapped.add(step)
        if step >= 10:
            array.remove()
            mapped.remove(step - 10)
    assert len(array._items) <= 2 * (SLACK + 10)
    assert len(mapped._keys._items) <= 2 * (SLACK + 10)
