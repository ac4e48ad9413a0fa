import { type Static, type TObject, type TProperties, Type } from "typebox";
import { Compile } from "typebox/compile";
import type { TLocalizedValidationError } from "typebox/error";
import type { CallInterface, InterfaceCall } from "./interfaceCall.ts";
import {
  infiniteFault,
  isInfinite,
  pathOfNumber,
  roundedFault,
  significantDigits,
} from "../http/contract/json.ts";
import { rules } from "../http/contract/textForms.ts";
import { closed } from "./schemas.ts";

/** The protocol's hints about a tool's effects. A client may use them to ask its user for permission. */
export interface Annotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** The context of one call of a tool. */
export interface ToolContext {
  callInterface: CallInterface;
  /** Aborts when the client cancels the call. */
  signal: AbortSignal;
  /** Sets the function that undoes the call if its answer does not reach the client. */
  onUndelivered: (undo: () => Promise<void>) => void;
}

/** A tool: its description for agents, and its function. */
export interface Tool {
  name: string;
  description: string;
  annotations: Annotations;
  inputSchema: TObject;
  outputSchema: TObject;
  /** @throws {ArgumentError} for wrong arguments. @throws {CallRefusedError} when the interface refuses. */
  run: (input: unknown, context: ToolContext) => Promise<Record<string, unknown>>;
}

/** Thrown when the arguments do not match the tool's schema. */
export class ArgumentError extends Error {
  override name = "ArgumentError";
}

/** Defines a tool. The arguments are checked before `run` is called; only the fields of `input` are accepted. */
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
          // This error repeats another one that names the unknown argument.
          .filter(({ keyword }) => keyword !== "additionalProperties")
          .slice(0, 3)
          .map((fault) => wordsFor(fault, Object.keys(input)))
          .join("; "),
      );
    },
  };
}

function wordsFor(fault: TLocalizedValidationError, known: readonly string[]): string {
  const { keyword, instancePath, message } = fault;
  const path = instancePath.slice(1);
  if (keyword === "pattern") return `${path}: ${rules.get(fault.params.pattern) ?? message}`;
  // The keyword "boolean" means a schema `false`: the field is not allowed.
  if (keyword !== "boolean") return `${path || "arguments"}: ${message}`;
  const isNested = path.includes("/");
  return isNested ? `${path}: unknown field` : `${path}: unknown argument; this tool has ${known.join(", ")}`;
}

/**
 * Refuses numbers of an item that would not arrive as they were written, because the arguments have been parsed already. A number
 * of up to 15 digits is parsed exactly. A number beyond 2^53 with more digits may have been rounded.
 * @throws {ArgumentError} for such a number.
 */
function refuseChanged(given: object): void {
  const { payload, message } = given as { payload?: unknown; message?: unknown };
  const infinite = pathOfNumber(given, isInfinite);
  if (infinite !== undefined) throw new ArgumentError(infiniteFault(infinite));
  const rounded = pathOfNumber({ payload, message }, isImprecise);
  if (rounded !== undefined) throw new ArgumentError(roundedFault(rounded));
}

function isImprecise(value: number): boolean {
  return Math.abs(value) > Number.MAX_SAFE_INTEGER && significantDigits(value).length > 15;
}

export type Described = Pick<Tool, "name" | "description" | "annotations">;

/** Reads the JSON at a path of the interface. */
export function read<Body>(
  context: ToolContext,
  path: string,
  query: InterfaceCall["query"] = {},
): Promise<Body> {
  return call(context, { method: "GET", path, query });
}

/** Sends a request to the interface. It is repeatable unless `request` says otherwise. @returns the JSON of its answer. */
export async function call<Body>(
  { callInterface, signal }: ToolContext,
  request: Omit<InterfaceCall, "isRepeatable" | "signal"> & Partial<InterfaceCall>,
): Promise<Body> {
  const body = await callInterface({ isRepeatable: true, signal, ...request });
  return JSON.parse(body.toString()) as Body;
}

/** Annotations of a tool that only reads. */
export function reads(title: string): Annotations {
  return { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
}

/** Annotations of a tool that changes something; hints that are not given are false. */
export function changes(title: string, what: Partial<Omit<Annotations, "title">> = {}): Annotations {
  return { ...reads(title), readOnlyHint: false, idempotentHint: false, ...what };
}
