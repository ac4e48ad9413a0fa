import { endSession } from "../api/session.ts";
import { Button } from "../controls/Button.tsx";
import { Modal } from "../controls/Modal.tsx";
import { SignInForm } from "./SignInForm.tsx";

/** Asks the user of an ended session to sign in again, over the page with the unsaved input. */
export function SignInAgain({ email }: { email: string }) {
  return (
    <Modal title="Your session has ended" open dismissible={false} onClose={endSession}>
      <p>Sign in again to continue. The page is as you left it; unsaved changes are still there.</p>
      <SignInForm email={email}>
        <Button onClick={endSession}>Leave this page</Button>
      </SignInForm>
    </Modal>
  );
}
