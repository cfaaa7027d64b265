"""An MCP server that manages a garden: two tools, a resource, a prompt."""

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

garden = MCPServer("garden")
beds = {"beans": 3, "kale": 7, "mint": 9}


class Bed(BaseModel):
    plant: str
    moisture: int = Field(ge=0, le=10)


@garden.tool(annotations={"readOnlyHint": True})
def bed(plant: str) -> Bed:
    """How wet a bed is."""
    if plant not in beds:
        raise ToolError(f"There is no bed of {plant}. There is {', '.join(beds)}.")
    return Bed(plant=plant, moisture=beds[plant])


@garden.tool()
async def water(litres: int, context: Context) -> str:
    """Water every bed."""
    for done, plant in enumerate(beds, 1):
        beds[plant] = min(10, beds[plant] + litres)
        await context.report_progress(done, len(beds), f"{litres} l for the {plant}")
    return f"All {len(beds)} beds have had {litres} l."


@garden.resource("garden://plan")
def plan() -> str:
    """Which bed lies where."""
    return "North: beans. South: kale, mint."


@garden.prompt()
def advice(plant: str) -> str:
    """Ask a gardener."""
    return f"You are a gardener. When do I water {plant}?"


if __name__ == "__main__":
    garden.run()
