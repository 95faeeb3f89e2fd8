import pytest

from gexplorer.layout.box import MAX_WIDTH, MIDDLE, MIN_WIDTH, PADDING_X, closed_size, fitted, node_size, text_width


@pytest.mark.parametrize("text", ["MatMul", "float16 [1, 2048, 4096]", "x", "层归一化", "a" * 10_000])
def test_a_box_is_wide_enough_for_its_label_or_as_wide_as_may_be(text):
    width, _ = node_size(text, "")
    assert MIN_WIDTH <= width <= MAX_WIDTH
    shown = fitted(text, width - 2 * PADDING_X, bold=True)
    assert shown == text or width == MAX_WIDTH
    assert text_width(shown, bold=True) <= width - 2 * PADDING_X


def test_long_names_lose_their_middle():
    shown = fitted("/model/layers.0/self_attn/q_proj/MatMul_1", 120)
    first, _, last = shown.partition(MIDDLE)
    assert first.startswith("/model")
    assert last.endswith("MatMul_1")


def test_a_badge_has_room():
    assert closed_size("post_attention_layernorm", 10, 1_000)[0] > closed_size("post_attention_layernorm", 10, 1)[0]
