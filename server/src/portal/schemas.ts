import { type Static, Type } from "typebox";
import { lineOfText } from "../http/contract/plainText.ts";
import { Id, nullable, NullableString, Timestamp } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";

export const PortalLink = Type.Object(
  {
    url: Type.String({
      description:
        "The link for the customer. The code in its fragment works once and expires after one hour. Shown once",
    }),
    expires_at: Timestamp,
  },
  { title: "PortalLink" },
);

export const EndedPortalSessions = Type.Object(
  {
    ended_sessions: Type.Integer(),
    ended_links: Type.Integer({ description: "Number of links that nobody had opened" }),
  },
  { title: "EndedPortalSessions" },
);

export const PortalCode = Type.Object({
  code: textOf("portalCode", { description: "The code in the fragment of the portal link" }),
});

export const PortalSession = Type.Object(
  {
    session_token: Type.String({
      pattern: "^pse_[0-9a-f]{64}$",
      description: "Value for the `X-Session-Token` header. Shown once",
    }),
    expires_at: Timestamp,
  },
  { title: "PortalSession" },
);

const maxLogoCharacters = 65_536;
const maxOrigins = 20;

const looks = {
  logo: Type.Union([Type.String({ maxLength: maxLogoCharacters }), Type.Null()], {
    description:
      "An https URL, or a base64 data URL of a PNG, JPEG, GIF, WebP or SVG image. The service never fetches the URL. null for none",
    examples: ["https://shop.example.com/logo.svg"],
  }),
  colour: Type.Union([Type.String({ pattern: "^#[0-9a-f]{6}$" }), Type.Null()], {
    description:
      "Colour of buttons, as #rrggbb. The text on buttons is black or white, whichever is easier to read. null for the default colour",
    examples: ["#0b6e4f"],
  }),
};

export const PortalSettings = Type.Object(
  {
    name: nullable(
      lineOfText({ minLength: 1, maxLength: 80 }),
      "The name that customers see. null for the name of the organization",
    ),
    ...looks,
    origins: Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: maxOrigins,
      description:
        "Origins of the pages that can show the portal in a frame, such as https://app.example.com. http is allowed only for localhost. If the list is empty, no page can show the portal in a frame",
      examples: [["https://app.example.com"]],
    }),
  },
  { title: "PortalSettings" },
);

export type PortalSettings = Static<typeof PortalSettings>;

/** Settings in a request; a field that is left out is reset. */
export const PortalSettingsInput = Type.Partial(
  Type.Object({
    ...PortalSettings.properties,
    colour: Type.Union([Type.String({ maxLength: 20 }), Type.Null()], {
      description: "Colour of buttons, as #rrggbb, in upper or lower case. null for the default colour",
      examples: ["#0B6E4F"],
    }),
  }),
  { title: "PortalSettingsInput" },
);

export const Portal = Type.Object(
  {
    organization: Type.Object({ id: Id, name: Type.String(), ...looks }),
    customer: Type.Object({ uid: Type.String(), name: NullableString }),
    expires_at: Timestamp,
  },
  { title: "Portal" },
);
