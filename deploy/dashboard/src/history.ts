/** Asks agents for the last day of each sensor, one request at a time; time comes in as an argument. */

import { DAY_MS } from "./fleet";
import type { Answer, Estimate } from "./wire";

const PATIENCE_MS = 15_000;
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

export class History {
  /** Which agent was asked about each sensor. */
  private asked = new Map<string, string>();
  private waiting: Request[] = [];
  private current: Request | null = null;
  private heardMs = 0;
  private made = 0;

  constructor(
    private readonly line: Line,
    private readonly page: string,
  ) {}

  /** Ask for the day that ends with this estimate, once per sensor and agent. */
  want(estimate: Estimate, nowMs: number): void {
    const { agent, sensor } = estimate;
    if (agent === null || this.asked.get(sensor) === agent || this.waiting.length >= MOST_WAITING) return;
    this.asked.set(sensor, agent);
    const last = Math.min(MOST, Math.ceil(DAY_MS / (estimate.endMs - estimate.startMs)));
    this.waiting.push({ id: `${this.page}-${this.made++}`, agent, sensor, last });
    this.advance(nowMs);
  }

  /** The estimate of an answer to the present request; anything else is not ours. */
  take(answer: Answer, nowMs: number): Estimate | null {
    if (answer.id !== this.current?.id) return null;
    const { sensor } = this.current;
    this.heardMs = nowMs;
    if (answer.error !== null || answer.index + 1 >= answer.of) this.finish(nowMs);
    return answer.estimate?.sensor === sensor ? answer.estimate : null;
  }

  /** Give up on an agent that has stopped answering. */
  tick(nowMs: number): void {
    if (this.current && nowMs - this.heardMs > PATIENCE_MS) this.finish(nowMs);
  }

  /** A new connection: what was missed meanwhile has to be asked for again. */
  startOver(): void {
    this.asked.clear();
    this.waiting = [];
    this.current = null;
  }

  /** An agent that is gone answers nothing now, and may have more to tell when it is back. */
  forget(agent: string, nowMs: number): void {
    for (const [sensor, asked] of this.asked) if (asked === agent) this.asked.delete(sensor);
    this.waiting = this.waiting.filter((request) => request.agent !== agent);
    if (this.current?.agent === agent) this.finish(nowMs);
  }

  private finish(nowMs: number): void {
    if (this.current) this.line.hangUp(this.current);
    this.current = null;
    this.advance(nowMs);
  }

  private advance(nowMs: number): void {
    if (this.current || this.waiting.length === 0) return;
    this.current = this.waiting.shift()!;
    this.heardMs = nowMs;
    this.line.ask(this.current);
  }
}
