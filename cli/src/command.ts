import type { ParseArgsOptionDescriptor } from "node:util";
import type { Session } from "./session.ts";

/** An option of a command, as `--help` and completion show it. */
export interface Option extends Pick<ParseArgsOptionDescriptor, "type" | "multiple"> {
  /** The placeholder of its value in the help. */
  value?: string;
  /** The values there are, where they are few. */
  choices?: readonly string[];
  help: string;
}

export type Options = Readonly<Record<string, Option>>;

/** The parsed command line. */
export interface Input {
  words: readonly string[];
  /** The arguments after `--`. */
  rest: readonly string[];
  text: (option: string) => string | undefined;
  texts: (option: string) => readonly string[];
  flag: (option: string) => boolean;
  /** @throws {UsageError} when the value is no whole number from `min` to `max`. */
  number: (option: string, min: number, max: number) => number | undefined;
}

/** One command, or a group: a group has subcommands and no `run`. */
export interface Command {
  name: string;
  summary: string;
  /** The words it takes, such as `<target> <file>`; a word in brackets may be left out, the last may be repeated with `…`. */
  words?: string;
  /** Suggestions for its arguments, for completion. */
  wordChoices?: readonly string[];
  /** Notes for its help. */
  details?: string;
  options?: Options;
  commands?: readonly Command[];
  /** It talks to no service, and so takes no credential. */
  isLocal?: boolean;
  /** Its words and options are not read: it only says where it can be run. */
  isElsewhere?: boolean;
  run?(session: Session, input: Input): Promise<void>;
}

/** Options of every command that talks to a service. */
export const connectionOptions: Options = {
  server: {
    type: "string",
    value: "URL",
    help: "address of the service; default: POSTRIDER_URL, the profile's, or http://127.0.0.1:8080",
  },
  profile: {
    type: "string",
    value: "NAME",
    help: "profile stored by postrider login; or POSTRIDER_PROFILE",
  },
  "key-stdin": {
    type: "boolean",
    help: "read the API key from standard input; default: POSTRIDER_KEY, or the profile's",
  },
};

/** Options of every command. */
export const commonOptions: Options = {
  json: { type: "boolean", help: "print JSON, one document per line" },
  help: { type: "boolean", help: "show this text" },
};

export function optionsOf(command: Command): Options {
  return {
    ...command.options,
    ...(command.isLocal === true ? {} : connectionOptions),
    ...commonOptions,
  };
}
