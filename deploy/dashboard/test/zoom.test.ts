import { describe, expect, it } from "vitest";
import { Zoom, type Range } from "../src/charts/zoom";

const HOUR = 3_600_000;
const whole: Range = [0, 24 * HOUR];

describe("a zoomed chart", () => {
  it("shows the whole span first, and moves on with it", () => {
    const zoom = new Zoom();
    expect(zoom.visible(whole)).toEqual(whole);
    expect(zoom.visible([HOUR, 25 * HOUR])).toEqual([HOUR, 25 * HOUR]);
    expect(zoom.active).toBe(false);
  });

  it("shows the selected part, never shorter than an hour", () => {
    const zoom = new Zoom();
    zoom.select(whole, 6 * HOUR, 9 * HOUR);
    expect(zoom.visible(whole)).toEqual([6 * HOUR, 9 * HOUR]);
    zoom.select(whole, 6 * HOUR, 6 * HOUR);
    expect(zoom.visible(whole)).toEqual([5.5 * HOUR, 6.5 * HOUR]);
  });

  it("keeps the time under the fingers in its place", () => {
    const zoom = new Zoom();
    zoom.scale(whole, 0.5, 6 * HOUR);
    expect(zoom.visible(whole)).toEqual([3 * HOUR, 15 * HOUR]);
    zoom.scale(whole, 1e-9, 6 * HOUR);
    const [from, to] = zoom.visible(whole);
    expect(to - from).toBeCloseTo(HOUR);
  });

  it("pans to the edges and no further", () => {
    const zoom = new Zoom();
    zoom.pan(whole, 1);
    expect(zoom.active).toBe(false);
    zoom.select(whole, 6 * HOUR, 12 * HOUR);
    zoom.pan(whole, 0.5);
    expect(zoom.visible(whole)).toEqual([9 * HOUR, 15 * HOUR]);
    zoom.pan(whole, 100);
    expect(zoom.visible(whole)).toEqual([18 * HOUR, 24 * HOUR]);
    zoom.pan(whole, -100);
    expect(zoom.visible(whole)).toEqual([0, 6 * HOUR]);
  });

  it("is whole again when as much is shown as there is, and after a reset", () => {
    const zoom = new Zoom();
    zoom.select(whole, 6 * HOUR, 20 * HOUR);
    zoom.scale(whole, 2, 12 * HOUR);
    expect(zoom.active).toBe(false);
    zoom.select(whole, 6 * HOUR, 20 * HOUR);
    zoom.reset();
    expect(zoom.visible(whole)).toEqual(whole);
  });

  it("moves a part that the span has left to its edge", () => {
    const zoom = new Zoom();
    zoom.select(whole, 0, 6 * HOUR);
    expect(zoom.visible([2 * HOUR, 26 * HOUR])).toEqual([2 * HOUR, 8 * HOUR]);
  });
});
