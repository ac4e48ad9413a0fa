import type { TSchema } from "typebox";
import { route, type RouteCall, type RouteDefinition, type RouteSchema } from "../http/contract/route.ts";
import { UidParams, uidOfPath } from "../targets/uid.ts";

interface Words<Answer extends TSchema> extends Pick<RouteSchema, "summary" | "description" | "errors"> {
  answer: Answer;
}

type CustomerCall<Answer extends TSchema> = RouteCall<{
  summary: string;
  params: typeof UidParams;
  response: { 200: Answer };
}>;

/** A route about the customer that its path names; 404 for what no path can name. */
export function customerRoute<Answer extends TSchema>(
  { answer, ...words }: Words<Answer>,
  handle: (call: CustomerCall<Answer>, uid: string) => unknown,
): RouteDefinition {
  return route({ ...words, params: UidParams, response: { 200: answer } }, (call) =>
    handle(call, uidOfPath(call.params)),
  );
}
