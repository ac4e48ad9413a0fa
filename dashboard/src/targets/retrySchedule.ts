/** When each attempt is due, in seconds after the first, if all fail: the wait triples each time, up to a day. */
export function retrySchedule(maxRetries: number, intervalSeconds: number): number[] {
  const times = [0];
  let at = 0;
  for (let retry = 0; retry < maxRetries; retry += 1) {
    at += Math.min(longestWaitSeconds, intervalSeconds * factor ** retry);
    times.push(at);
  }
  return times;
}

const factor = 3;
const longestWaitSeconds = 86_400;
