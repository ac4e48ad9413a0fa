import { once, EventEmitter } from "node:events";
import type { ServiceProcess } from "./serviceProcess.ts";

/** A load balancer in front of several processes: each request goes to the next process (round robin). */
export interface Balancer {
  add(service: ServiceProcess): void;
  /** Sends the process no further requests; resolves once its current ones are answered. */
  remove(service: ServiceProcess): Promise<void>;
  /**
   * Resolves to the parsed answer of status 200 or 202; undefined for any other status, which is added to
   * `problems`.
   */
  post(path: string, key: string, body: unknown, headers?: Record<string, string>): Promise<unknown>;
  /** Number of requests that the process has answered with 200 or 202. */
  served(service: ServiceProcess): number;
  /** Unexpected answers and broken connections, as the client saw them. */
  problems: string[];
}

export function createBalancer(): Balancer {
  const rotation: ServiceProcess[] = [];
  const inFlight = new Map<ServiceProcess, number>();
  const served = new Map<ServiceProcess, number>();
  const problems: string[] = [];
  const ended = new EventEmitter();
  let turn = 0;

  const count = (counts: Map<ServiceProcess, number>, service: ServiceProcess, by: number): void =>
    void counts.set(service, (counts.get(service) ?? 0) + by);

  return {
    problems,
    add: (service) => void rotation.push(service),
    async remove(service) {
      rotation.splice(rotation.indexOf(service), 1);
      while ((inFlight.get(service) ?? 0) > 0) await once(ended, "request");
    },
    async post(path, key, body, headers = {}) {
      const service = rotation[turn++ % rotation.length]!;
      count(inFlight, service, 1);
      try {
        const response = await fetch(service.url + path, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        });
        const text = await response.text();
        if (response.status === 200 || response.status === 202) {
          count(served, service, 1);
          return JSON.parse(text) as unknown;
        }
        problems.push(`${path}: ${response.status} ${text}`);
      } catch (error) {
        problems.push(`${path}: ${String(error)}`);
      } finally {
        count(inFlight, service, -1);
        ended.emit("request");
      }
      return undefined;
    },
    served: (service) => served.get(service) ?? 0,
  };
}
