import type { ServiceProcess } from "./serviceProcess.ts";

/** Records everything that the service answers to `call` from now on, with headers, in order. */
export function keepAnswers(service: ServiceProcess): string[] {
  const kept: string[] = [];
  const call = service.call.bind(service);
  service.call = async (...request) => {
    const answer = await call(...request);
    kept.push(JSON.stringify([answer.body, answer.headers]));
    return answer;
  };
  return kept;
}
