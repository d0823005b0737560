import { expect, test } from "vitest";
import { History, type Request } from "../src/history";
import { window } from "./sample";

function conversation() {
  const asked: Request[] = [];
  const hungUp: string[] = [];
  const history = new History({ ask: (request) => asked.push(request), hangUp: ({ id }) => hungUp.push(id) }, "page");
  return { asked, hungUp, history };
}

/** By time: the last 96 messages would be fewer windows, if some were revised. */
const DAY = { from: "2024-01-31T10:30:00.000Z", to: "2024-02-01T10:30:00.000Z" };

const answer = (id: string, index: number, of: number, sensor = "5A2D") => ({
  id,
  index,
  of,
  more: false,
  found: of > 0 ? window(index, { sensor }) : null,
  error: null,
});

test("a day is asked for once per sensor, the next sensor only when the last answer is in", () => {
  const { asked, hungUp, history } = conversation();
  for (const sensor of ["5A2D", "B5FF", "5A2D"]) history.want(window(0), sensor, 0);
  expect(asked).toMatchObject([{ id: "page-0", agent: "van-1", sensor: "5A2D", query: DAY }]);
  expect(history.take(answer("page-0", 0, 2), 1)).toEqual(window(0));
  expect(asked.length).toBe(1);
  expect(history.take(answer("page-0", 1, 2), 2)).toEqual(window(1));
  expect(asked.map(({ sensor }) => sensor)).toEqual(["5A2D", "B5FF"]);
  expect(hungUp).toEqual(["page-0"]);
});

test.each([
  ["nothing kept", answer("page-0", 0, 0)],
  ["an error", { id: "page-0", index: 0, of: 0, more: false, found: null, error: "unknown sensor" }],
])("%s ends the request", (_, reply) => {
  const { hungUp, history } = conversation();
  history.want(window(0), "5A2D", 0);
  expect(history.take(reply, 1)).toBeNull();
  expect(hungUp).toEqual(["page-0"]);
});

test("30 days are asked for by time, in as many requests as they need", () => {
  const { asked, history } = conversation();
  history.want(window(0), "5A2D", 0, 30 * 86_400_000);
  const span = { from: "2024-01-02T10:30:00.000Z", to: "2024-02-01T10:30:00.000Z" };
  expect(asked).toMatchObject([{ query: span }]);
  expect(history.take({ ...answer("page-0", 0, 1), more: true }, 1)).toEqual(window(0));
  expect(asked[1]).toMatchObject({ id: "page-1", query: { ...span, after_seq: 1000 } });
  history.take(answer("page-1", 0, 1), 2);
  expect(asked.length).toBe(2);
});

test("the consensus of a van is asked for without a sensor, and no estimate is taken for it", () => {
  const { asked, history } = conversation();
  const { sensor: _, ...common } = window(0);
  const consensus = { ...common, sensors: { "5A2D": 1 }, leftOut: {} };
  history.want(consensus, null, 0);
  history.want(consensus, null, 0);
  expect(asked).toMatchObject([{ agent: "van-1", sensor: null, query: DAY }]);
  expect(history.take(answer("page-0", 0, 2), 1)).toBeNull();
  expect(history.take({ ...answer("page-0", 1, 2), found: consensus }, 2)).toEqual(consensus);
});

test("answers to others, and estimates of other sensors, are not ours", () => {
  const { history } = conversation();
  history.want(window(0), "5A2D", 0);
  expect(history.take(answer("other-0", 0, 2), 1)).toBeNull();
  expect(history.take(answer("page-0", 0, 2, "B5FF"), 1)).toBeNull();
});

test("an agent that stops answering does not hold up the next sensor", () => {
  const { asked, history } = conversation();
  history.want(window(0), "5A2D", 0);
  history.want(window(0), "B5FF", 0);
  history.take(answer("page-0", 0, 96), 10_000);
  history.tick(25_000);
  expect(asked.length).toBe(1);
  history.tick(25_001);
  expect(asked.length).toBe(2);
});

test("a question that failed is put again after a pause, but not for ever", () => {
  const { asked, history } = conversation();
  history.want(window(0), "5A2D", 0);
  const refusal = { index: 0, of: 0, more: false, found: null, error: "too many requests wait; ask again later" };
  history.take({ id: "page-0", ...refusal }, 1);
  history.tick(30_000);
  expect(asked.length).toBe(1);
  history.tick(30_001);
  expect(asked.length).toBe(2);
  for (let nowMs = 40_000; nowMs < 1e6; nowMs += 1000) history.tick(nowMs);
  expect(asked.length).toBe(4);
});

test("two agents that take turns at one sensor are asked once each", () => {
  const { asked, history } = conversation();
  for (const agent of ["van-1", "van-2", "van-1", "van-2"]) history.want(window(0, { agent }), "5A2D", 0);
  history.take(answer("page-0", 0, 0), 1);
  history.take(answer("page-1", 0, 0), 2);
  expect(asked.map(({ agent }) => agent)).toEqual(["van-1", "van-2"]);
});

test("after a reconnection everything is asked again", () => {
  const { asked, history } = conversation();
  history.want(window(0), "5A2D", 0);
  history.startOver();
  history.want(window(0), "5A2D", 1);
  expect(asked.map(({ id }) => id)).toEqual(["page-0", "page-1"]);
});

test("an agent that goes offline frees the line for the others, and is asked again when it is back", () => {
  const { asked, hungUp, history } = conversation();
  history.want(window(0), "5A2D", 0);
  history.want(window(0, { agent: "van-2" }), "B5FF", 0);
  history.forget("van-1", 1);
  expect(hungUp).toEqual(["page-0"]);
  history.take(answer("page-1", 0, 0), 2);
  history.want(window(0), "5A2D", 3);
  expect(asked.map(({ agent, sensor }) => `${agent} ${sensor}`)).toEqual(["van-1 5A2D", "van-2 B5FF", "van-1 5A2D"]);
});
