"""``make nojit`` leaves no module with kernels out."""

from tests.nojit import SELECTION, TESTS, kernel_modules, selection_for


def test_every_module_with_kernels_has_tests_without_the_jit() -> None:
    modules = kernel_modules()
    assert len(modules) > 40
    assert {module for module in modules if selection_for(module) is None} == set()


def test_no_entry_is_left_over() -> None:
    modules = kernel_modules()
    for name, tests in SELECTION.items():
        assert any(f"{module}.".startswith(f"{name}.") for module in modules), name
        assert (TESTS / tests).is_file(), tests
