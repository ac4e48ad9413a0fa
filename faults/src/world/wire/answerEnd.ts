/** Takes the bytes of an answer as they come, and says when it is whole. */
export type AnswerEnd = (bytes: Buffer) => boolean;

/** The first bytes of an HTTP answer are enough: whoever gives it has done the work. */
export function httpAnswerEnd(): AnswerEnd {
  return (bytes) => bytes.length > 0;
}
