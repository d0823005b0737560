/** Which part of a span a chart shows. Times come in as arguments. */

export type Range = readonly [fromMs: number, toMs: number];

/** The shortest part: four windows of 15 minutes. */
const SHORTEST_MS = 3_600_000;

export class Zoom {
  /** Null shows the whole span, which then moves on with the newest window. */
  private part: Range | null = null;

  get active(): boolean {
    return this.part !== null;
  }

  reset(): void {
    this.part = null;
  }

  /** The part of `whole` to show. A part that has left the span is moved to its edge. */
  visible(whole: Range): Range {
    return this.part ? inside(whole, this.part) : whole;
  }

  select(whole: Range, fromMs: number, toMs: number): void {
    const middle = (fromMs + toMs) / 2;
    const half = Math.max(Math.abs(toMs - fromMs), SHORTEST_MS) / 2;
    this.show(whole, [middle - half, middle + half]);
  }

  /** Show `factor` times as much time as now; `aroundMs` stays where it is. */
  scale(whole: Range, factor: number, aroundMs: number): void {
    const [from, to] = this.visible(whole);
    const bounded = Math.max(factor, SHORTEST_MS / (to - from));
    this.show(whole, [aroundMs - (aroundMs - from) * bounded, aroundMs + (to - aroundMs) * bounded]);
  }

  /** Move by a share of what is visible; a positive share moves to later times. */
  pan(whole: Range, share: number): void {
    if (!this.part) return;
    const [from, to] = this.visible(whole);
    this.show(whole, [from + share * (to - from), to + share * (to - from)]);
  }

  private show(whole: Range, part: Range): void {
    this.part = part[1] - part[0] >= whole[1] - whole[0] ? null : inside(whole, part);
  }
}

function inside([first, last]: Range, [from, to]: Range): Range {
  const length = Math.min(to - from, last - first);
  const start = Math.min(Math.max(from, first), last - length);
  return [start, start + length];
}
