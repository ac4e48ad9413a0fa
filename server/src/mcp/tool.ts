import { type Static, type TObject, type TProperties, Type } from "typebox";
import { Compile } from "typebox/compile";
import type { CallInterface, InterfaceCall } from "./interfaceCall.ts";
import { isInfinite, pathOfNumber, significantDigits } from "../http/contract/json.ts";
import { closed } from "./schemas.ts";

/** The protocol's hints about a tool's effects; a client may ask its user by them. */
export interface Annotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Around one call of a tool. */
export interface ToolContext {
  callInterface: CallInterface;
  /** Aborts when the caller gives the call up. */
  signal: AbortSignal;
  /** Has this done if it turns out that the answer reached nobody. */
  onUnheard: (undo: () => Promise<void>) => void;
}

/** A tool as agents see it, and what it does. */
export interface Tool {
  name: string;
  description: string;
  annotations: Annotations;
  inputSchema: TObject;
  outputSchema: TObject;
  /** @throws {ArgumentError} @throws {CallRefusedError} */
  run: (input: unknown, context: ToolContext) => Promise<Record<string, unknown>>;
}

/** The arguments are not as the tool's schema says. */
export class ArgumentError extends Error {
  override name = "ArgumentError";
}

/** A tool whose arguments are checked before `run` sees them. It takes the fields of `input` and no others. */
export function defineTool<Input extends TProperties, Output extends TProperties>(
  { input, output, ...described }: Described & { input: Input; output: Output },
  run: (
    input: Static<TObject<Input>>,
    context: ToolContext,
  ) => Promise<Static<TObject<Output>> & Record<string, unknown>>,
): Tool {
  const inputSchema = Type.Object(input, closed);
  const validator = Compile(inputSchema);
  return {
    ...described,
    inputSchema,
    outputSchema: Type.Object(output),
    async run(given, context) {
      if (validator.Check(given)) {
        refuseChanged(given);
        return run(given, context);
      }
      throw new ArgumentError(
        validator
          .Errors(given)
          // Said of each argument that there is not.
          .filter(({ keyword }) => keyword !== "additionalProperties")
          .slice(0, 3)
          .map((fault) => wordsFor(fault, Object.keys(input)))
          .join("; "),
      );
    },
  };
}

function wordsFor(
  { keyword, instancePath, message }: { keyword: string; instancePath: string; message: string },
  known: readonly string[],
): string {
  const path = instancePath.slice(1);
  // A schema that is false allows nothing at its place.
  if (keyword !== "boolean") return `${path || "arguments"}: ${message}`;
  const isNested = path.includes("/");
  return isNested
    ? `${path}: there is no such field`
    : `${path}: no argument of this tool, which has ${known.join(", ")}`;
}

/**
 * An item's numbers are to arrive as they were written, and here they have been read already. A number of up to 15 digits was
 * surely read as itself; one beyond 2^53 with more was not, or would be written with other digits.
 * @throws {ArgumentError}
 */
function refuseChanged(given: object): void {
  const { payload, message } = given as { payload?: unknown; message?: unknown };
  const path = pathOfNumber(given, isInfinite) ?? pathOfNumber({ payload, message }, isImprecise);
  if (path !== undefined)
    throw new ArgumentError(`${path.slice(1)} is a number too large to keep: give it as a string`);
}

function isImprecise(value: number): boolean {
  return Math.abs(value) > Number.MAX_SAFE_INTEGER && significantDigits(value).length > 15;
}

type Described = Pick<Tool, "name" | "description" | "annotations">;

/** Reads the JSON at a path of the interface. */
export function read<Body>(
  context: ToolContext,
  path: string,
  query: InterfaceCall["query"] = {},
): Promise<Body> {
  return call(context, { method: "GET", path, query });
}

/** Makes a request of the interface. It may be sent twice unless it says otherwise. @returns the JSON of its answer. */
export async function call<Body>(
  { callInterface, signal }: ToolContext,
  request: Omit<InterfaceCall, "isRepeatable" | "signal"> & Partial<InterfaceCall>,
): Promise<Body> {
  const body = await callInterface({ isRepeatable: true, signal, ...request });
  return JSON.parse(body.toString()) as Body;
}

/** Looks and changes nothing. */
export function reads(title: string): Annotations {
  return { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
}

/** Changes something; what is not said is not so. */
export function changes(title: string, what: Partial<Omit<Annotations, "title">> = {}): Annotations {
  return { ...reads(title), readOnlyHint: false, idempotentHint: false, ...what };
}
