"""Which of a file's columns are ours, as --columns and a manifest say it."""


def parse(text: str) -> dict[str, str]:
    """{our name: their column}; raises ValueError with what was expected.

    >>> parse("op1=co_we, op2=co_ae")
    {'op1': 'co_we', 'op2': 'co_ae'}
    """
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if any(not ours.strip() or not theirs.strip() for ours, _, theirs in pairs):
        raise ValueError(f"expected op1=co_we,op2=co_ae,… got {text!r:.80}")
    columns = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
    if len(columns) < len(pairs) or len({*columns.values()}) < len(pairs):
        raise ValueError(f"expected each name once, got {text!r:.80}")
    return columns
