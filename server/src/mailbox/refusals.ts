import { ApiError, notFound, unauthorized } from "../http/contract/errors.ts";
import type { NamedClaimRefusal } from "./claim/claimNamedMessages.ts";
import type { ChangeCode } from "./finish/endMessages.ts";

/** The error that a message's holder gets; undefined when what was asked for is done. */
export function changeRefusal(code: ChangeCode): ApiError | undefined {
  switch (code) {
    case "k":
    case "r":
      return undefined;
    case "u":
      return unauthorized();
    case "n":
      return notFound();
    case "f":
      return new ApiError(403, "another API key has claimed the message");
    case "s":
      return new ApiError(
        409,
        "the claim is not active: it was never made, has lapsed, or a later one has replaced it",
      );
    case "x":
      return new ApiError(409, "the message has expired");
  }
}

/** The error of a message that could not be claimed. */
export function claimRefusal(code: NamedClaimRefusal): ApiError {
  switch (code) {
    case "u":
      return unauthorized();
    case "n":
      return notFound();
    case "h":
    case "b":
      return new ApiError(409, "the message is claimed");
    case "a":
      return new ApiError(409, "the message is acknowledged");
    case "d":
      return new ApiError(409, "the message is dead: redrive it first");
    case "x":
      return new ApiError(409, "the message has expired");
    case "o":
      return new ApiError(409, "an earlier message of its ordering key is not done");
  }
}
