import { Link, useNavigate } from "@tanstack/react-router";
import { type Search, useUrlState } from "../shell/useUrlState.ts";
import { AuthCard } from "./AuthCard.tsx";
import { SignInForm } from "./SignInForm.tsx";

/**
 * Whether the service mails links to reset passwords. It writes that into the page as a meta tag
 * (`server/src/http/dashboard.ts`).
 */
const sendsMail: boolean = document.querySelector('meta[name="postrider-sends-mail"]') !== null;

/** Sign-in page. Afterwards, the page in `next` is opened, where the last session ended. */
export function SignInPage() {
  const [search] = useUrlState();
  const navigate = useNavigate();
  return (
    <AuthCard title="Sign in" foot={<OtherWays />}>
      {search["next"] !== undefined && <p className="text-muted">Sign in to continue.</p>}
      <SignInForm onSignedIn={() => void navigate({ ...placeOf(search["next"]), replace: true })}>
        {sendsMail && (
          <Link to="/forgot-password" className="justify-self-center text-accent underline">
            Forgot password?
          </Link>
        )}
      </SignInForm>
    </AuthCard>
  );
}

function OtherWays() {
  return (
    <>
      New here?{" "}
      <Link to="/sign-up" className="text-accent underline">
        Sign up
      </Link>{" "}
      or see the{" "}
      <Link to="/demo" className="text-accent underline">
        demo
      </Link>
    </>
  );
}

/** Accepts only a path of this dashboard: a link must not redirect to another site. */
function placeOf(next: string | undefined): { to: string; search: Search } {
  if (next === undefined || !next.startsWith("/")) return { to: "/", search: {} };
  const { pathname, searchParams } = new URL(`http://here${next}`);
  return { to: pathname, search: Object.fromEntries(searchParams) };
}
