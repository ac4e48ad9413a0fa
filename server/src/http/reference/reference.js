// Remembers the chosen language of the samples, and adds buttons that copy them. The pages also work without this script.
const key = "postrider.reference.language";

// The browser may forbid storage: then the choice is lost with the page.
function read() {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(language) {
  try {
    localStorage.setItem(key, String(language));
  } catch {
    // The browser forbids storage.
  }
}

for (const choice of document.querySelectorAll("input[name=language]")) {
  if (choice.value === read()) choice.checked = true;
  choice.addEventListener("change", () => keep(choice.value));
}

for (const sample of navigator.clipboard === undefined
  ? []
  : document.querySelectorAll("pre[data-language]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    const code = sample.querySelector("code");
    const copied = () => (button.textContent = "Copied");
    // The browser may refuse the copy: then the text is selected, so that the user can copy it with the keyboard.
    const refused = () => getSelection().selectAllChildren(code);
    void navigator.clipboard.writeText(code.textContent).then(copied, refused);
  });
  sample.append(button);
}
