/** Asks agents for the last day of each sensor, one request at a time; time comes in as an argument. */

import { DAY_MS } from "./fleet";
import type { Answer, Estimate } from "./wire";

const PATIENCE_MS = 15_000;
/** Before a question that failed is put again, and how often it is put at most. */
const PAUSE_MS = 30_000;
const MOST_TRIES = 4;
/** The most an agent gives for one request. */
const MOST = 1_000;
const MOST_WAITING = 256;

export interface Request {
  id: string;
  agent: string;
  sensor: string;
  last: number;
}

export interface Line {
  ask(request: Request): void;
  hangUp(request: Request): void;
}

/** A request that waits for its turn, and after a failure for a while. */
interface Waiting extends Omit<Request, "id"> {
  dueMs: number;
  tries: number;
}

export class History {
  /** The agent asked, by sensor and agent. */
  private asked = new Map<string, string>();
  private waiting: Waiting[] = [];
  private current: (Waiting & Request) | null = null;
  private heardMs = 0;
  private made = 0;

  constructor(
    private readonly line: Line,
    private readonly page: string,
  ) {}

  /** Ask for the day that ends with this estimate, once per sensor and agent. */
  want({ agent, sensor, startMs, endMs }: Estimate, nowMs: number): void {
    if (agent === null || this.asked.has(`${sensor}/${agent}`) || this.waiting.length >= MOST_WAITING) return;
    const last = Math.min(MOST, Math.ceil(DAY_MS / (endMs - startMs)));
    this.asked.set(`${sensor}/${agent}`, agent);
    this.waiting.push({ agent, sensor, last, dueMs: nowMs, tries: 1 });
    this.advance(nowMs);
  }

  /** The estimate of an answer to the present request; anything else is not ours. */
  take(answer: Answer, nowMs: number): Estimate | null {
    if (answer.id !== this.current?.id) return null;
    const { sensor } = this.current;
    this.heardMs = nowMs;
    if (answer.error !== null) this.fail(nowMs);
    else if (answer.index + 1 >= answer.of) this.finish(nowMs);
    return answer.estimate?.sensor === sensor ? answer.estimate : null;
  }

  /** Give up on an agent that has stopped answering, and ask again what failed a while ago. */
  tick(nowMs: number): void {
    if (this.current && nowMs - this.heardMs > PATIENCE_MS) this.fail(nowMs);
    this.advance(nowMs);
  }

  /** A new connection: what was missed meanwhile has to be asked for again. */
  startOver(): void {
    this.asked.clear();
    this.waiting = [];
    this.current = null;
  }

  /** An agent that is gone answers nothing now, and may have more to tell when it is back. */
  forget(agent: string, nowMs: number): void {
    for (const [pair, asked] of this.asked) if (asked === agent) this.asked.delete(pair);
    this.waiting = this.waiting.filter((question) => question.agent !== agent);
    if (this.current?.agent === agent) this.finish(nowMs);
  }

  private fail(nowMs: number): void {
    const { agent, sensor, last, tries } = this.current!;
    if (tries < MOST_TRIES) this.waiting.push({ agent, sensor, last, dueMs: nowMs + PAUSE_MS, tries: tries + 1 });
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
