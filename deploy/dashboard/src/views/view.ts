/** Views and their sections are built once and then told the moment; they change only what has changed. */

import type { Link } from "../broker";
import type { Verdict } from "../verdict";

export interface Moment {
  /** By the vans' clock. */
  nowMs: number;
  link: Link;
  verdict: Verdict;
}

export interface Section {
  root: HTMLElement;
  update(moment: Moment): void;
}

export interface View extends Section {
  heading: HTMLElement;
  title: string;
}
