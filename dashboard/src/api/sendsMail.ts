/** Whether this service mails links to reset passwords. The service says so in the page itself (`server/src/http/dashboard.ts`). */
export const sendsMail: boolean = document.querySelector('meta[name="postrider-sends-mail"]') !== null;
