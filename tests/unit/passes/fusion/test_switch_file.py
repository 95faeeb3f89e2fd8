"""Switch files: GE's text and JSON forms, article A2's INI form."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.errors import OptionError
from gexplorer.passes.fusion.switch_file import read_switch_file, write_ini, write_json, write_text

KNOWN = ("conv_batchnorm", "ConvBatchnormFusionPass", "matmul_bias", "MatMulBiasAddFusionPass", "flash_attention")


def read(tmp_path, text):
    path = tmp_path / "switch.cfg"
    path.write_text(text)
    return read_switch_file(path, KNOWN)


def test_text_form(tmp_path):
    found = read(tmp_path, "# comment\nConvBatchnormFusionPass:off\n\nmatmul_bias:on\nSoftmaxFusionPass:off\n")
    assert found.switches == {"ConvBatchnormFusionPass": False, "matmul_bias": True}
    assert found.unmodelled == ("SoftmaxFusionPass",)


def test_json_form_with_all_and_priorities(tmp_path):
    data = {
        "Switch": {
            "GraphFusion": {"ALL": "off", "MatMulBiasAddFusionPass": "on"},
            "UBFusion": {"TbeEltwiseFusionPass": "off"},
        },
        "Priority": {"GraphFusion": {"Top": {}, "Main": {"MatMulBiasAddFusionPass": "5120"}}},
    }
    found = read(tmp_path, json.dumps(data))
    assert found.switches == {"ALL": False, "MatMulBiasAddFusionPass": True}
    assert found.priorities == {"MatMulBiasAddFusionPass": 5120}
    assert found.unmodelled == ("TbeEltwiseFusionPass",)


def test_ini_form_of_the_article(tmp_path):
    found = read(
        tmp_path,
        "[matmul_add_fusion]\nenable=1\neps=1e-5\n[conv_bn_relu_fusion]\nenable=0\n"
        "[flash_attention_fusion]\nhead_num=32,64\nscale=0.125\n",
    )
    assert found.switches == {"matmul_bias": True, "conv_batchnorm": False, "flash_attention": True}
    assert found.limits["flash_attention"] == {"heads": (32.0, 64.0), "scale": (0.125,)}
    assert found.limits["matmul_bias"] == {"eps": (1e-5,)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("matmul_bias\n", "line 1: PassName:on or PassName:off is wanted"),
        ("matmul_bias:maybe\n", "line 1: PassName:on or PassName:off is wanted"),
        ("matmul_bias:on\nmatmul_bias:off\n", "line 2: matmul_bias is switched twice"),
        ('{"Switch": ', "not a fusion switch file in JSON"),
        ('{"Switch": {"GraphFusion": {"a": "perhaps"}}}', "not a fusion switch file in JSON"),
        ("[matmul_add_fusion\n", "not a fusion switch file in INI form"),
        ("[matmul_add_fusion]\nenable=often\n", "not a fusion switch file in INI form"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, text, message):
    with pytest.raises(OptionError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(OptionError, match="cannot be read as a switch file: No such file"):
        read_switch_file(tmp_path / "none", KNOWN)


SWITCHES = st.dictionaries(st.sampled_from(KNOWN), st.booleans(), min_size=1)


@given(SWITCHES)
def test_what_is_written_is_read_again(tmp_path_factory, switches):
    folder = tmp_path_factory.mktemp("switch")
    assert read(folder, write_text(switches)).switches == switches
    assert read(folder, write_json(switches, {})).switches == switches
    limits = {rule: {"scale": (0.125, 2.0)} for rule in switches}
    found = read(folder, write_ini(switches, limits))
    assert found.switches == switches
    assert found.limits == limits


@given(st.text())
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "switch.cfg"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with suppress(OptionError):  # anything else fails the test
        read_switch_file(path, KNOWN)


INI = "[flash_attention_fusion]\nenable=1\nhead_num={heads}\n"


@pytest.mark.parametrize(("heads", "fused"), [("4,8", 2), ("2", 0)])
def test_what_the_ini_form_limits_is_not_matched_and_says_so(tmp_path, heads, fused):
    import gexplorer as gx

    path = tmp_path / "switch.ini"
    path.write_text(INI.format(heads=heads))
    file = read_switch_file(path, KNOWN)
    step = gx.compile("llama2-7b:small=true", fusion=file.switches, allowed=file.limits).steps["flash_attention"]
    assert len(step.rewrites) == fused
    limited = [r for r in step.rejects if r.code == "not_allowed"]
    assert len(limited) == 2 - fused
    for reject in limited:
        assert step.reason(reject) == "its heads would be 4, and the switch file allows 2"


@pytest.mark.parametrize("form", ["text", "json", "ini"])
def test_what_the_command_writes_it_reads(tmp_path, form, monkeypatch):
    from click.testing import CliRunner

    from gexplorer.cli import cli

    monkeypatch.chdir(tmp_path)
    flags = ["--preset", "tensorrt-like", "--on", "rms_norm", "--off", "conv_bias"]
    assert CliRunner().invoke(cli, ["rules", *flags, "--write", "s.cfg", "--form", form]).exit_code == 0

    def running(*arguments):
        result = CliRunner().invoke(cli, ["compile", "mlp:small=true", *arguments, "--json", "-"])
        return {rule["name"] for rule in json.loads(result.stdout)["rules"] if rule["enabled"]}

    assert running("--switch", "s.cfg") == running(*flags)
    assert running("--switch", "s.cfg", "--off", "rms_norm") == running(*flags) - {"rms_norm"}
