// Remembers the language of the samples, and copies them. The pages say the same without it.
const key = "postrider.reference.language";

// Storage may be forbidden: then the choice lasts as long as the page.
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
    // As above.
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
    // A browser may refuse: then the text is selected, and the keyboard copies it.
    const refused = () => getSelection().selectAllChildren(code);
    void navigator.clipboard.writeText(code.textContent).then(copied, refused);
  });
  sample.append(button);
}
