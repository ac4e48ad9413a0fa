/**
 * Whether the service mails links to reset passwords. It writes that into the page as a meta tag
 * (`server/src/http/dashboard.ts`).
 */
export const sendsMail: boolean = document.querySelector('meta[name="postrider-sends-mail"]') !== null;
