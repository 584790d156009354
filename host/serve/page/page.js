// Lists the inputs of the server.
const health = await (await fetch("/health")).json();
for (const input of health.inputs) {
  const item = document.createElement("li");
  item.textContent = input.records === null ? input.name : `${input.name}: ${input.records} lines`;
  document.getElementById("inputs").append(item);
}
