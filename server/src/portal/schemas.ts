import { type Static, Type } from "typebox";
import { lineOfText } from "../http/contract/plainText.ts";
import { Id, nullable, NullableString, Timestamp } from "../http/contract/schemas.ts";

export const PortalLink = Type.Object(
  {
    url: Type.String({
      description: "For the customer; the code in its fragment works once, within the hour. Shown once",
    }),
    expires_at: Timestamp,
  },
  { title: "PortalLink" },
);

export const EndedPortalSessions = Type.Object(
  {
    ended_sessions: Type.Integer(),
    ended_links: Type.Integer({ description: "Links that nobody had opened" }),
  },
  { title: "EndedPortalSessions" },
);

export const PortalCode = Type.Object({
  code: Type.String({ pattern: "^plc_[0-9a-f]{64}$", description: "As it stands in the link's fragment" }),
});

export const PortalSession = Type.Object(
  {
    session_token: Type.String({
      pattern: "^pse_[0-9a-f]{64}$",
      description: "For `X-Session-Token`; shown once",
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
      "An https URL, or a data URL in base64 of a PNG, JPEG, GIF, WebP or SVG; the service never fetches it. null for none",
    examples: ["https://shop.example.com/logo.svg"],
  }),
  colour: Type.Union([Type.String({ pattern: "^#[0-9a-f]{6}$" }), Type.Null()], {
    description:
      "Colour of buttons, as #rrggbb; the text on it is black or white, whichever is easier to read. null for the portal's own",
    examples: ["#0b6e4f"],
  }),
};

export const PortalSettings = Type.Object(
  {
    name: nullable(
      lineOfText({ minLength: 1, maxLength: 80 }),
      "What customers see in place of the organization's name; null for that one",
    ),
    ...looks,
    origins: Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: maxOrigins,
      description:
        "Whose pages may show the portal in a frame: origins such as https://app.example.com, and of this machine over http, too. Nobody's while it is empty",
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
      description: "Colour of buttons, as #rrggbb, in letters of either case. null for the portal's own",
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
