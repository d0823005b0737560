import { expect, test } from "vitest";
import { columns, runs } from "../src/charts/columns";
import { Fleet } from "../src/fleet";
import { replayedMs } from "../src/replay";
import { START_MS, window, WINDOW_MS } from "./sample";

function fleetOf(...windows: ReturnType<typeof window>[]): Fleet {
  const fleet = new Fleet();
  for (const each of windows) fleet.addEstimate(each, null);
  return fleet;
}

const windowsOf = (fleet: Fleet) => fleet.sensors.get("van-1/5A2D")!.windows;

test("any order, and any number of times, gives the same day", () => {
  const [a, b, c] = [window(0), window(1), window(2)];
  const expected = [a, b, c];
  for (const order of [
    [a, b, c],
    [c, a, b],
    [b, c, a, b, a, c, c],
  ])
    expect(windowsOf(fleetOf(...order))).toEqual(expected);
});

test("the highest revision of a window stays, whichever came last", () => {
  const [first, second] = [window(0, { value: 0.5 }), window(0, { value: 0.6, revision: 1 })];
  expect(windowsOf(fleetOf(first, second))).toEqual([second]);
  expect(windowsOf(fleetOf(second, first))).toEqual([second]);
});

test("a revision of an older window is not the newest, whichever came last", () => {
  const [first, second, revised] = [window(0), window(1), window(0, { revision: 1, seq: 1002 })];
  for (const order of [
    [first, second, revised],
    [revised, first, second],
    [second, revised, first],
  ]) {
    expect(windowsOf(fleetOf(...order))).toEqual([revised, second]);
    expect(fleetOf(...order).sensors.get("van-1/5A2D")!.newest).toEqual(second);
  }
});

test("one day is kept, counted back from the newest window", () => {
  const kept = windowsOf(fleetOf(...Array.from({ length: 200 }, (_, i) => window(i))));
  expect(kept.length).toBe(96);
  expect(kept[0]).toEqual(window(104));
});

test("a window from the future neither ends the day nor empties it", () => {
  const future = window(2, { startMs: START_MS + 1e12, endMs: START_MS + 1e12 + WINDOW_MS });
  const expected = [window(0), window(1), window(3)];
  for (const order of [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [2, 0, 3, 1],
  ])
    expect(windowsOf(fleetOf(...order.map((i) => (i === 2 ? future : window(i)))))).toEqual(expected);
});

test("after seq restarts, a later window that comes live is the newest", () => {
  const fleet = fleetOf(window(0), window(1));
  const again = window(2, { seq: 1 });
  fleet.addEstimate(again, null);
  expect(fleet.sensors.get("van-1/5A2D")!.newest).toEqual(window(1));
  fleet.addEstimate(again, 1000);
  expect(fleet.sensors.get("van-1/5A2D")!.newest).toEqual(again);
});

test("the number of kept windows is bounded", () => {
  const seconds = Array.from({ length: 4000 }, (_, i) => window(i, { startMs: i * 1000, endMs: (i + 1) * 1000 }));
  expect(windowsOf(fleetOf(...seconds)).length).toBe(2880);
});

test("256 sensors are shown, and the names of the others are counted once", () => {
  const windows = Array.from({ length: 260 }, (_, i) => window(0, { sensor: `s${i}` }));
  const fleet = fleetOf(...windows, ...windows);
  expect([fleet.sensors.size, fleet.unshownSensors.size]).toEqual([256, 4]);
});

test("only the newest window, heard live, shows that a sensor is alive", () => {
  const fleet = new Fleet();
  fleet.addEstimate(window(5), null);
  fleet.addEstimate(window(1), 1000);
  expect(fleet.sensors.get("van-1/5A2D")!.heardMs).toBeNull();
  fleet.addEstimate(window(5), 4000);
  expect(fleet.sensors.get("van-1/5A2D")!.heardMs).toBe(4000);
});

test("the line breaks at a window without a value and at one that never came", () => {
  const day = [window(0), window(1), window(2, { value: null }), window(3), window(7), window(8)];
  expect(runs(day)).toEqual([[day[0], day[1]], [day[3]], [day[4], day[5]]]);
});

test("a chart gets an empty point where windows never came, and a ring where one is flagged", () => {
  const day = [window(0), window(1, { quality: 3 }), window(4, { value: null }), window(5)];
  const { data, slots } = columns(day);
  const gap = { startMs: day[1]!.endMs, endMs: day[2]!.startMs };
  expect(slots).toEqual([day[0], day[1], gap, day[2], day[3]]);
  expect(data.slice(1)).toEqual([
    [0.7, 0.7, null, null, 0.7],
    [0.9, 0.9, null, null, 0.9],
    [0.8, 0.8, null, null, 0.8],
    [null, 0.8, null, null, null],
  ]);
  expect([...data[0]].every((x, i, all) => i === 0 || x > all[i - 1]!)).toBe(true);
});

test("a window that comes live a day after its end is a replay; an old retained one is not", () => {
  const newestReplay = (heardMs: number | null) => {
    const fleet = new Fleet();
    fleet.addEstimate(window(0), heardMs);
    return replayedMs(fleet);
  };
  const endMs = window(0).endMs;
  expect([endMs + 60_000, endMs + 2 * 86_400_000, null].map(newestReplay)).toEqual([null, endMs, null]);
});
