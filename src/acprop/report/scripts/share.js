// What a reader takes along: the address, and a picture as a file of its own.

import { set, svg } from "./svg.js";

// What the page's style sheet says about a picture, and a file must say itself.
const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "font-size"];

// A picture with its looks written into it, on paper.
export function standalone(image) {
  const copy = image.cloneNode(true);
  const nodes = [image, ...image.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  nodes.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of LOOKS) copies[i].setAttribute(name, style.getPropertyValue(name));
    if (style.visibility === "hidden") copies[i].setAttribute("visibility", "hidden");
    copies[i].removeAttribute("class");
    copies[i].removeAttribute("tabindex");
  });
  const { width, height } = image.viewBox.baseVal;
  const paper = getComputedStyle(document.body).backgroundColor;
  set(copy, { width, height, "font-family": "system-ui, sans-serif" });
  copy.prepend(
    svg("title", {}, image.getAttribute("aria-label")),
    svg("rect", { width, height, fill: paper }),
  );
  return new XMLSerializer().serializeToString(copy);
}

// Buttons with data-save save the picture of their figure.
export function bindSave(root) {
  for (const button of root.querySelectorAll("[data-save]"))
    button.addEventListener("click", () => {
      const text = standalone(button.closest("figure").querySelector(".plot svg"));
      const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      const link = set(document.createElement("a"), { href: url, download: `acprop-${button.dataset.save}.svg` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
}

// Copies what `address()` returns; where a browser forbids that, it is shown to be copied.
export function bindCopy(button, field, address) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    field.value = address();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
    } catch {
      field.hidden = false;
      field.select();
      button.textContent = "Copy it from here:";
    }
    setTimeout(() => (button.textContent = label), 4000);
  });
}
