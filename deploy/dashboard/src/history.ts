/** Requests the past of each sensor from its agent, one request at a time. Time is an argument. */

import { DAY_MS } from "./fleet";
import type { Window } from "./wire";
import { sensorOf, type Answer } from "./answer";

const PATIENCE_MS = 15_000;
/** The pause before a failed request is repeated, and the most tries. */
const PAUSE_MS = 30_000;
const MOST_TRIES = 4;
const MOST_WAITING = 256;

export interface Request {
  id: string;
  agent: string;
  /** Null asks for the consensus of the van. */
  sensor: string | null;
  query: Query;
}

/** All windows of a time, with every revision; they may need several requests. */
type Query = { from: string; to: string; after_seq?: number };

export interface Line {
  ask(request: Request): void;
  hangUp(request: Request): void;
}

/** A request that waits for its turn, or for the pause after a failure. */
interface Waiting extends Omit<Request, "id"> {
  dueMs: number;
  tries: number;
}

export class History {
  /** `sensor/agent/span` → the agent that was asked. */
  private asked = new Map<string, string>();
  private waiting: Waiting[] = [];
  private current: (Waiting & Request) | null = null;
  private heardMs = 0;
  private made = 0;

  constructor(
    private readonly line: Line,
    private readonly page: string,
  ) {}

  /** Ask for the day, or another span, that ends with this estimate, once per sensor and agent. */
  want({ agent, endMs }: Window, sensor: string | null, nowMs: number, spanMs = DAY_MS): void {
    const key = `${sensor ?? ""}/${agent}/${spanMs}`;
    if (this.asked.has(key) || this.waiting.length >= MOST_WAITING) return;
    const query = { from: instant(endMs - spanMs), to: instant(endMs) };
    this.asked.set(key, agent);
    this.waiting.push({ agent, sensor, query, dueMs: nowMs, tries: 1 });
    this.advance(nowMs);
  }

  /** What is in an answer to the present request; null for any other answer. */
  take(answer: Answer, nowMs: number): Answer["found"] {
    if (answer.id !== this.current?.id) return null;
    const { agent, sensor, query } = this.current;
    this.heardMs = nowMs;
    if (answer.error !== null) this.fail(nowMs);
    else if (answer.index + 1 >= answer.of) {
      if (answer.more && answer.found)
        this.waiting.unshift({ agent, sensor, query: { ...query, after_seq: answer.found.seq }, dueMs: nowMs, tries: 1 });
      this.finish(nowMs);
    }
    return answer.found && sensorOf(answer.found) === sensor ? answer.found : null;
  }

  /** Fail a request without answers, and repeat what failed before the pause. */
  tick(nowMs: number): void {
    if (this.current && nowMs - this.heardMs > PATIENCE_MS) this.fail(nowMs);
    this.advance(nowMs);
  }

  /** After a new connection everything is requested again. */
  startOver(): void {
    this.asked.clear();
    this.waiting = [];
    this.current = null;
  }

  /** Drop the requests to an agent that is offline; they are made again when it is back. */
  forget(agent: string, nowMs: number): void {
    for (const [pair, asked] of this.asked) if (asked === agent) this.asked.delete(pair);
    this.waiting = this.waiting.filter((question) => question.agent !== agent);
    if (this.current?.agent === agent) this.finish(nowMs);
  }

  private fail(nowMs: number): void {
    const { agent, sensor, query, tries } = this.current!;
    if (tries < MOST_TRIES) this.waiting.push({ agent, sensor, query, dueMs: nowMs + PAUSE_MS, tries: tries + 1 });
    this.finish(nowMs);
  }

  private finish(nowMs: number): void {
    if (this.current) this.line.hangUp(this.current);
    this.current = null;
    this.advance(nowMs);
  }

  private advance(nowMs: number): void {
    const next = this.waiting.findIndex(({ dueMs }) => dueMs <= nowMs);
    if (this.current || next < 0) return;
    this.current = { ...this.waiting.splice(next, 1)[0]!, id: `${this.page}-${this.made++}` };
    this.heardMs = nowMs;
    this.line.ask(this.current);
  }
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
