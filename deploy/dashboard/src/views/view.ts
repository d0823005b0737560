/** Views and their sections are built once and then told the time; they change only what has changed. */

import type { Link } from "../broker";

export interface Section {
  root: HTMLElement;
  update(nowMs: number): void;
}

export interface View {
  root: HTMLElement;
  heading: HTMLElement;
  title: string;
  update(nowMs: number, link: Link): void;
}
