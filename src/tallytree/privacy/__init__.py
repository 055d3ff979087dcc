"""Who is protected, by how much, and at what cost: neighbours, sensitivities, budget, plan, noise."""
