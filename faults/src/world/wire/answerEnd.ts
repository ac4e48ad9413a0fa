/** Receives the bytes of an answer as they arrive, and returns true once the answer is complete. */
export type AnswerEnd = (bytes: Buffer) => boolean;

/** The first bytes of an HTTP answer are enough: the server has done the work by then. */
export function httpAnswerEnd(): AnswerEnd {
  return (bytes) => bytes.length > 0;
}
