import { perSecond, whole } from "../figures.ts";
import type { MatrixFigure, Measure } from "./record.ts";

/** Writes a size, such as `200 B` or `2 KB`. */
export function bytesOf(bytes: number): string {
  return bytes < 1_000 ? `${whole(bytes)} B` : `${rate(bytes / 1_000)} KB`;
}

export function targetsOf(targets: number): string {
  return targets === 1 ? "1 target" : `${whole(targets)} targets`;
}

export function storedOf(events: number): string {
  return events === 0 ? "empty" : `${countOf(events)} stored`;
}

/** Writes a number of events, such as `10 million` or `400,000`. */
export function countOf(events: number): string {
  return events >= 1e6 ? `${rate(events / 1e6)} million` : whole(events);
}

export function msOf(ms: number): string {
  return ms < 10 ? ms.toFixed(1) : whole(ms);
}

export function ratioOf(ratio: number): string {
  return ratio.toFixed(2);
}

export function rateOf(figure: Pick<MatrixFigure, "perSecond">): string {
  return perSecond(figure.perSecond);
}

export function percentOf(part: number): string {
  return `${Math.round(part * 100)} %`;
}

/** Has one digit after the point below 10, unless the value is a whole number. */
function rate(value: number): string {
  return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : whole(value);
}

export const titles: Record<Measure, string> = {
  intake: "Intake: items accepted per second",
  "in-and-out": "In and out: items accepted and delivered per second",
  drain: "Drain: stored items delivered per second",
};

export const bareNames: Record<Measure, string> = {
  intake: "Fastify without storage",
  "in-and-out": "one process without storage",
  drain: "a loop that posts from memory",
};
